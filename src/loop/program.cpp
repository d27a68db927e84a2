#include "loop/program.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace ingot::loop {
namespace {

constexpr int64_t kAlignment = 64;

std::string_view name_of(Accumulate a) {
  switch (a) {
    case Accumulate::sum: return "sum";
    case Accumulate::product: return "product";
    case Accumulate::min: return "min";
    case Accumulate::max: return "max";
    case Accumulate::all: return "all";
    case Accumulate::any: return "any";
  }
  return {};
}

std::string list(const std::vector<Expr>& v) {
  std::string s;
  for (const Expr& e : v) s += text(s.empty() ? "" : ", ", e);
  return s;
}
std::string ranges(const std::vector<Expr>& vars) {
  std::string s;
  for (const Expr& v : vars) s += text(s.empty() ? "" : ", ", v, " < ", v.arg(0));
  return s;
}

bool is_row_major(const Buffer& b) {
  Expr stride = 1;
  for (std::size_t d = b.sizes.size(); d-- > 0; stride = stride * b.sizes[d])
    if (!same(b.strides[d], stride)) return false;
  return true;
}

std::string line(const Buffer& b) {
  const char* place = b.place == Place::input ? "input" : b.place == Place::output ? "output" : "arena";
  std::string s = text("  ", place, " ", b.name, ": ", short_name_of(b.dtype), "[", list(b.sizes), "]");
  if (!is_row_major(b)) s += text(" strides [", list(b.strides), "]");
  if (b.offset.valid()) s += text(" at ", b.offset);
  return s + "\n";
}

std::string line(const Program& p, const Computation& c) {
  std::string s = text("  ", p.buffers[static_cast<std::size_t>(c.out)].name, "[", ranges(c.vars), "] = ", c.value);
  for (const Fold& f : c.folds)
    s += text(&f == c.folds.data() ? " where " : ", ", f.tmp, " = ", name_of(f.how), "(", ranges(f.vars), ") ", f.body);
  return s + "\n";
}

std::string argument_text(const Program& p, const KernelCall::Argument& a) {
  using enum KernelCall::Argument::Kind;
  switch (a.kind) {
    case read: return p.buffers[static_cast<std::size_t>(a.buffer)].name;
    case write: return "&" + p.buffers[static_cast<std::size_t>(a.buffer)].name;
    case null: return "null";
    case int32: case int64: return to_text(a.values[0]);
    case array: return "{" + list(a.values) + "}";
  }
  return {};
}

std::string line(const Program& p, const KernelCall& k) {
  std::string args;
  for (const auto& a : k.args) args += (args.empty() ? "" : ", ") + argument_text(p, a);
  return text("  call ", k.symbol, "(", args, ")\n");
}

std::string range_text(const Expr& symbol) {
  const std::string s = text(symbol, " >= ", symbol->lo);
  return symbol->hi == kUnbounded ? s : text(s, " <= ", symbol->hi);
}

void collect_loads(const Expr& e, std::vector<int>& buffers) {
  visit(e, [&](const Expr& x) {
    if (x.op() == ExprOp::Load) buffers.push_back(static_cast<int>(x->i));
  });
}

}  // namespace

std::string to_text(const Program& p) {
  std::string s, symbols;
  for (const Expr& e : p.symbols) symbols += (symbols.empty() ? "" : ", ") + range_text(e);
  s = text("program ", p.name, "(", symbols, ")\n");
  for (const Guard& g : p.guards) s += text("  guard ", g.answer ? g.condition : !g.condition, "\n");
  for (const Buffer& b : p.buffers) s += line(b);
  for (const Step& step : p.steps) s += std::visit([&](const auto& x) { return line(p, x); }, step);
  return s;
}

void plan_memory(Program& p) {
  p.arena_bytes = 0;
  for (Buffer& b : p.buffers) {
    if (b.place != Place::arena) continue;
    b.offset = p.arena_bytes;
    Expr bytes = size_of(b.dtype);
    for (const Expr& n : b.sizes) bytes = bytes * n;
    p.arena_bytes = p.arena_bytes + floor_div(bytes + (kAlignment - 1), kAlignment) * kAlignment;
  }
}

std::vector<int> buffers_of(const Step& step) {
  std::vector<int> all;
  if (const auto* c = std::get_if<Computation>(&step)) {
    for (const Fold& f : c->folds) collect_loads(f.body, all);
    collect_loads(c->value, all);
    all.push_back(c->out);
  } else {
    using Kind = KernelCall::Argument::Kind;
    for (const auto& a : std::get<KernelCall>(step).args)
      if (a.kind == Kind::read || a.kind == Kind::write) all.push_back(a.buffer);
  }
  std::vector<int> once;
  for (int b : all)
    if (std::find(once.begin(), once.end(), b) == once.end()) once.push_back(b);
  return once;
}

}  // namespace ingot::loop
