#include "loop/program.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace ingot::loop {
namespace {

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

std::string_view name_of(Place p) {
  switch (p) {
    case Place::input: return "input";
    case Place::constant: return "constant";
    case Place::output: return "output";
    case Place::arena: return "arena";
    case Place::lent: return "lent";
    case Place::scratch: return "scratch";
  }
  return {};
}

std::string_view assignment_of(Accumulate a) {
  switch (a) {
    case Accumulate::sum: return "+=";
    case Accumulate::product: return "*=";
    case Accumulate::min: return "min=";
    case Accumulate::max: return "max=";
    case Accumulate::all: return "and=";
    case Accumulate::any: return "or=";
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
  std::string s = text("  ", name_of(b.place), " ", b.name, ": ", short_name_of(b.dtype), "[", list(b.sizes), "]");
  if (!is_row_major(b)) s += text(" strides [", list(b.strides), "]");
  if (b.offset.valid()) s += text(" at ", b.offset);
  return s + "\n";
}

std::string line(const Program& p, const Computation& c) {
  std::string s = text("  ", p.buffers[static_cast<std::size_t>(c.out)].name, "[", list(c.leading),
                       c.leading.empty() || c.vars.empty() ? "" : ", ", ranges(c.vars), "] = ", c.value);
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
    case int32:
    case int64: return to_text(a.values[0]);
    case array: return "{" + list(a.values) + "}";
  }
  return {};
}

std::string line(const Program& p, const KernelCall& k) {
  std::string args;
  for (const auto& a : k.args) args += (args.empty() ? "" : ", ") + argument_text(p, a);
  return text("  call ", k.symbol, "(", args, ")\n");
}

std::string indented(const std::string& lines) {
  std::string s = "  ";
  for (std::size_t i = 0; i < lines.size(); i++)
    s += lines[i] == '\n' && i + 1 < lines.size() ? std::string("\n  ") : std::string(1, lines[i]);
  return lines.empty() ? "" : s;
}

std::string names(const Program& p, const std::vector<int>& buffers) {
  std::string s;
  for (int b : buffers) s += (s.empty() ? "" : ", ") + p.buffers[static_cast<std::size_t>(b)].name;
  return s;
}

std::string line(const Program& p, const Nest& n) {
  std::string s;
  for (const Fold& f : n.folds) s += text(s.empty() ? "" : "; ", f.tmp, " ", assignment_of(f.how), " ", f.body);
  for (const Store& t : n.stores)
    s += text(s.empty() ? "" : "; ", p.buffers[static_cast<std::size_t>(t.out)].name, "[", t.offset, "] = ", t.value);
  return text("    ", n.vars.empty() ? "do" : "for ", ranges(n.vars), ": ", s, "\n");
}

std::string line(const Program& p, const Product& x) {
  auto name = [&](int b) { return p.buffers[static_cast<std::size_t>(b)].name; };
  return text("    product ", name(x.strip), " = ", name(x.rows), "[", x.rows_offset, "] * ", name(x.columns), "[",
              x.columns_offset, "] over ", ranges(x.k), "; panels ", ranges({x.panel}), " at ", x.first_column, "\n");
}

std::string line(const Program& p, const Kernel& k) {
  std::string s = text("  kernel ", k.name, " parallel ", ranges(k.outer), k.across ? " across" : "", "\n");
  for (std::size_t i = 0; i <= k.nests.size(); i++) {
    if (k.product && k.product->place == i) s += line(p, *k.product);
    if (i < k.nests.size()) s += line(p, k.nests[i]);
  }
  return s;
}

std::string line(const Program& p, const EagerCall& c) {
  std::string s = text(c.by_host ? "  host " : "  eager ", c.text, " (", names(p, c.tensors), c.integers.empty() ? "" : "; ",
                       list(c.integers), ") -> (", names(p, c.results), ")");
  for (const EagerCall::Size& d : c.decides) s += text(" ", d.symbol, " = size ", d.dim, " of ", d.result);
  return s + "\n";
}
std::string line(const Program& p, const Steps& steps);
std::string line(const Program& p, const Branch& b) {
  return text("  if ", b.condition, "\n", indented(line(p, b.then)), "  else\n", indented(line(p, b.otherwise)));
}
std::string line(const Program& p, const Repeat& r) {
  return text("  repeat\n", indented(line(p, r.test)), "  while ", r.condition, "\n", indented(line(p, r.body)));
}
std::string line(const Program& p, const Times& t) {
  return text("  times ", t.symbol, " < ", t.count, "\n", indented(line(p, t.body)));
}
std::string line(const Program&, const Decide& d) { return text("  ", d.symbol, " = ", d.value, "\n"); }
std::string line(const Program&, const Check& c) { return text("  check ", c.condition, "\n"); }

std::string line(const Program& p, const Steps& steps) {
  std::string s;
  for (const Step& step : steps) s += std::visit([&](const auto& x) { return line(p, x); }, step);
  return s;
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
  return s + line(p, p.steps);
}

Expr bytes_of(const Buffer& b) {
  Expr bytes = size_of(b.dtype);
  for (const Expr& n : b.sizes) bytes = bytes * n;
  return bytes;
}

namespace {

struct Uses {
  std::vector<int> read, written;

  void operator()(const Computation& c) {
    for (const Fold& f : c.folds) collect_loads(f.body, read);
    collect_loads(c.value, read);
    written.push_back(c.out);
  }
  void operator()(const Kernel& k) {
    if (k.product) {
      const Product& x = *k.product;
      read.push_back(x.rows);
      read.push_back(x.columns);
      written.push_back(x.strip);
    }
    for (const Nest& n : k.nests) {
      for (const Fold& f : n.folds) collect_loads(f.body, read);
      for (const Store& s : n.stores) {
        collect_loads(s.value, read);
        collect_loads(s.offset, read);
        written.push_back(s.out);
      }
    }
  }
  void operator()(const KernelCall& k) {
    using Kind = KernelCall::Argument::Kind;
    for (const auto& a : k.args)
      if (a.kind == Kind::read) read.push_back(a.buffer);
      else if (a.kind == Kind::write) written.push_back(a.buffer);
  }
  void operator()(const EagerCall& c) {
    read.insert(read.end(), c.tensors.begin(), c.tensors.end());
    written.insert(written.end(), c.results.begin(), c.results.end());
  }
  void operator()(const Branch& b) {
    collect_loads(b.condition, read);
    steps(b.then);
    steps(b.otherwise);
  }
  void operator()(const Repeat& r) {
    steps(r.test);
    collect_loads(r.condition, read);
    steps(r.body);
  }
  void operator()(const Times& t) { steps(t.body); }
  void steps(const Steps& all) {
    for (const Step& s : all) std::visit(*this, s);
  }
  void operator()(const Decide& d) { collect_loads(d.value, read); }
  void operator()(const Check& c) { collect_loads(c.condition, read); }
};

std::vector<int> once(const std::vector<int>& all) {
  std::vector<int> unique;
  for (int b : all)
    if (std::find(unique.begin(), unique.end(), b) == unique.end()) unique.push_back(b);
  return unique;
}

}  // namespace

std::vector<int> buffers_of(const Step& step) {
  Uses uses;
  std::visit(uses, step);
  uses.read.insert(uses.read.end(), uses.written.begin(), uses.written.end());
  return once(uses.read);
}

std::vector<int> written_by(const Step& step) {
  Uses uses;
  std::visit(uses, step);
  return once(uses.written);
}

void each_step(const Steps& steps, const std::function<void(const Step&)>& f) {
  for (const Step& s : steps) {
    if (const auto* b = std::get_if<Branch>(&s)) each_step(b->then, f), each_step(b->otherwise, f);
    if (const auto* r = std::get_if<Repeat>(&s)) each_step(r->test, f), each_step(r->body, f);
    if (const auto* t = std::get_if<Times>(&s)) each_step(t->body, f);
    f(s);
  }
}

}  // namespace ingot::loop
