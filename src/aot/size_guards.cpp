#include "aot/size_guards.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.hpp"
#include "expr/text.hpp"
#include "tensor/impl.hpp"

namespace ingot::aot {
namespace {

constexpr std::size_t kStack = 16;       // deeper expressions are evaluated as such
constexpr std::size_t kFewSymbols = 32;  // more need memory of their own at each call

int64_t floor_quotient(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

bool is_known(ExprOp op) {
  switch (op) {
    case ExprOp::Add:
    case ExprOp::Mul:
    case ExprOp::FloorDiv:
    case ExprOp::Mod:
    case ExprOp::Min:
    case ExprOp::Max:
    case ExprOp::Lt:
    case ExprOp::Le:
    case ExprOp::Eq:
    case ExprOp::Ne:
    case ExprOp::And:
    case ExprOp::Or: return true;
    default: return false;
  }
}

// None where the result is no number of 64 bits.
std::optional<int64_t> combined(ExprOp op, int64_t a, int64_t b) {
  int64_t r = 0;
  switch (op) {
    case ExprOp::Add: return __builtin_add_overflow(a, b, &r) ? std::nullopt : std::optional(r);
    case ExprOp::Mul: return __builtin_mul_overflow(a, b, &r) ? std::nullopt : std::optional(r);
    case ExprOp::FloorDiv:
    case ExprOp::Mod:
      if (b == 0 || b == -1) return std::nullopt;  // no size is divided by these
      r = floor_quotient(a, b);
      return op == ExprOp::FloorDiv ? r : a - r * b;
    case ExprOp::Min: return std::min(a, b);
    case ExprOp::Max: return std::max(a, b);
    case ExprOp::Lt: return a < b;
    case ExprOp::Le: return a <= b;
    case ExprOp::Eq: return a == b;
    case ExprOp::Ne: return a != b;
    case ExprOp::And: return a != 0 && b != 0;
    case ExprOp::Or: return a != 0 || b != 0;
    default: return std::nullopt;
  }
}

}  // namespace

SizeGuards::SizeGuards(const Values& fakes, const ShapeEnv& env) {
  const auto each_open = [&](const auto& f) {
    for (uint32_t k = 0; k < fakes.size(); k++) {
      if (fakes[k].is_int() && fakes[k].to_int().is_symbolic()) f(fakes[k].to_int(), Place{k});
      if (!fakes[k].is_tensor()) continue;
      const Tensor& t = fakes[k].tensor();
      for (int d = 0; d < t.dim(); d++)
        if (t.size(d).is_symbolic()) f(t.size(d), Place{k, d});
      for (int d = 0; d < t.dim(); d++)
        if (t.stride(d).is_symbolic()) f(t.stride(d), Place{k, d, true});
    }
  };
  each_open([&](const Int& open, Place place) { read_symbols(open, place); });
  each_open([&](const Int& open, Place place) { follow(open, place); });
  for (const Guard& g : env.guards())
    if (knows_all_of(g.condition)) steps_.push_back({.kind = Step::holds, .formula = formula(g.condition), .guard = g});
}

std::optional<uint32_t> SizeGuards::find(const Expr& symbol) const {
  for (uint32_t k = 0; k < symbols_.size(); k++)
    if (same(symbols_[k].expr, symbol)) return k;
  return {};
}

bool SizeGuards::knows_all_of(const Expr& e) const {
  bool all = true;
  visit(e, [&](const Expr& x) { all = all && (x.op() != ExprOp::Sym || find(x)); });
  return all;
}

// A size that is a symbol by itself says what the symbol is.
void SizeGuards::read_symbols(const Int& open, Place place) {
  const Expr e = open.expr();
  if (e.op() != ExprOp::Sym || place.is_stride || find(e)) return;
  symbols_.push_back({e, place});
  steps_.push_back({.kind = Step::reads, .symbol = static_cast<uint32_t>(symbols_.size() - 1), .place = place});
}

void SizeGuards::follow(const Int& open, Place place) {
  const Expr e = open.expr();
  const auto is_read_here = [&](const Symbol& s) {
    return s.place.argument == place.argument && s.place.dim == place.dim && !place.is_stride;
  };
  // Of a symbol that no argument is, nothing is known, and nothing in the function follows from it.
  if (std::any_of(symbols_.begin(), symbols_.end(), is_read_here) || !knows_all_of(e)) return;
  steps_.push_back({.kind = Step::follows, .place = place, .formula = formula(e)});
}

SizeGuards::Formula SizeGuards::formula(const Expr& e) const {
  Formula f{e, {}};
  if (!assemble(e, 1, f.code)) f.code.clear();
  return f;
}

bool SizeGuards::assemble(const Expr& e, std::size_t depth, std::vector<Formula::Instruction>& code) const {
  if (depth > kStack) return false;
  if (e.is_const() && (e.dtype() == DType::i64 || e.dtype() == DType::b8)) return code.push_back({ExprOp::Const, e->i}), true;
  if (e.op() == ExprOp::Sym) return code.push_back({ExprOp::Sym, *find(e)}), true;
  if (e.op() == ExprOp::Not) return assemble(e.arg(0), depth, code) && (code.push_back({ExprOp::Not, 0}), true);
  if (!is_known(e.op()) || e.args().size() < 2) return false;
  for (std::size_t k = 0; k < e.args().size(); k++) {
    const DType t = e.arg(k).dtype();
    if ((t != DType::i64 && t != DType::b8) || !assemble(e.arg(k), depth + (k > 0), code)) return false;
    if (k > 0) code.push_back({e.op(), 0});
  }
  return true;
}

std::optional<int64_t> SizeGuards::number_at(Place place, const Values& arguments) {
  const Value& v = arguments[place.argument];
  Int found;
  if (place.dim < 0) {
    if (!v.is_int()) return {};
    found = v.to_int();
  } else {
    const Geometry& g = v.tensor()->geom;
    found = (place.is_stride ? g.strides : g.sizes)[static_cast<std::size_t>(place.dim)];
  }
  return found.is_number() ? std::optional(found.number()) : std::nullopt;
}

std::optional<int64_t> SizeGuards::value(const Formula& f, const int64_t* values) const {
  if (f.code.empty()) {
    try {
      return evaluate(f.expr, [&](const Expr& leaf) { return values[*find(leaf)]; });
    } catch (const UserError&) {
      return {};  // no number of 64 bits
    }
  }
  std::array<int64_t, kStack + 1> stack;
  std::size_t top = 0;
  for (const Formula::Instruction& i : f.code) {
    if (i.op == ExprOp::Const) {
      stack[top++] = i.number;
    } else if (i.op == ExprOp::Sym) {
      stack[top++] = values[i.number];
    } else if (i.op == ExprOp::Not) {
      stack[top - 1] = stack[top - 1] == 0;
    } else {
      const std::optional<int64_t> r = combined(i.op, stack[top - 2], stack[top - 1]);
      if (!r) return {};
      stack[--top - 1] = *r;
    }
  }
  return stack[0];
}

bool SizeGuards::does_hold(const Step& s, const Values& arguments, int64_t* values) const {
  if (s.kind == Step::holds) {
    const std::optional<int64_t> v = value(s.formula, values);
    return v && (*v != 0) == s.guard.answer;
  }
  const std::optional<int64_t> found = number_at(s.place, arguments);
  if (!found) return false;
  if (s.kind == Step::reads) {
    values[s.symbol] = *found;
    const ExprNode& symbol = *symbols_[s.symbol].expr.node();
    return *found >= symbol.lo && *found <= symbol.hi;
  }
  const std::vector<Formula::Instruction>& code = s.formula.code;
  if (code.size() == 1 && code[0].op == ExprOp::Sym ? values[code[0].number] == *found : value(s.formula, values) == found)
    return true;
  // A stride along one element, or among none, leads nowhere.
  const std::optional<int64_t> size = s.place.is_stride ? number_at({s.place.argument, s.place.dim}, arguments) : std::nullopt;
  return size && *size <= 1;
}

std::optional<uint32_t> SizeGuards::broken(const Values& arguments) const {
  std::array<int64_t, kFewSymbols> few;
  std::vector<int64_t> many(symbols_.size() > kFewSymbols ? symbols_.size() : 0);
  int64_t* values = many.empty() ? few.data() : many.data();
  for (uint32_t k = 0; k < steps_.size(); k++)
    if (!does_hold(steps_[k], arguments, values)) return k;
  return {};
}

SizeGuards::Text SizeGuards::to_text(uint32_t broken, const Values& arguments) const {
  const Step& s = steps_[broken];
  std::vector<int64_t> values(symbols_.size());
  for (uint32_t k = 0; k < broken; k++)
    if (steps_[k].kind == Step::reads) values[steps_[k].symbol] = number_at(steps_[k].place, arguments).value_or(0);
  if (s.kind == Step::holds) {
    std::string found;
    visit(s.formula.expr, [&](const Expr& x) {
      if (x.op() == ExprOp::Sym) found += ingot::text(found.empty() ? "" : ", ", x, " = ", values[*find(x)]);
    });
    return {{}, ingot::text("expected ", s.guard, ", found ", found)};
  }
  const std::string where =
      s.place.dim < 0 ? "value" : ingot::text(s.place.is_stride ? "stride" : "size", " of dim ", s.place.dim);
  const Value& v = arguments[s.place.argument];
  const std::optional<int64_t> number = number_at(s.place, arguments);
  const std::string found = number                           ? ingot::text(*number)
                            : s.place.dim < 0 && !v.is_int() ? std::string(v.kind_name())
                                                             : "an open size";
  if (s.kind == Step::follows) {
    const std::optional<int64_t> wanted = value(s.formula, values.data());
    return {s.place.argument,
            ingot::text(where, ": expected ", s.formula.expr, wanted ? ingot::text(" = ", *wanted) : "", ", found ", found)};
  }
  const Expr& symbol = symbols_[s.symbol].expr;
  std::string range = symbol->lo > std::numeric_limits<int64_t>::min() ? ingot::text("at least ", symbol->lo) : "any";
  if (symbol->hi < kUnbounded) range += ingot::text(range == "any" ? " up to " : " and at most ", symbol->hi);
  return {s.place.argument, ingot::text(where, " (", symbol, "): expected ", range, ", found ", found)};
}

}  // namespace ingot::aot
