// Comparisons, connectives, minimum and maximum, selection.
#include <algorithm>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "expr/build.hpp"
#include "expr/intern.hpp"
#include "expr/range.hpp"
#include "expr/scalar.hpp"

namespace ingot {
namespace {

using enum ExprOp;

bool surely_lt(const Expr& a, const Expr& b) {
  if (a.dtype() == DType::i64) return prove_lt(a, b);
  return is_integral(a.dtype()) && a.dtype() != DType::u64 && a->hi < b->lo;
}
bool surely_le(const Expr& a, const Expr& b) {
  if (a.dtype() == DType::i64) return prove_ge(b, a);
  return is_integral(a.dtype()) && a.dtype() != DType::u64 && a->hi <= b->lo;
}

Expr build_lt(const Expr& a, const Expr& b) {
  if (same(a, b)) return false;  // NaN < NaN is false too
  if (surely_lt(a, b)) return true;
  if (surely_le(b, a)) return false;
  return intern(Lt, DType::b8, {a, b});
}

Expr build_le(const Expr& a, const Expr& b) {
  if (!is_floating(a.dtype()) && same(a, b)) return true;
  if (surely_le(a, b)) return true;
  if (surely_lt(b, a)) return false;
  if (a.dtype() == DType::i64) {
    // The end of the range was answered above.
    if (b.is_const() && b->i != Range::kMax) return build_lt(a, b + 1);
    if (a.is_const() && a->i != Range::kMin) return build_lt(a - 1, b);
  }
  return intern(Le, DType::b8, {a, b});
}

Expr build_equality(ExprOp op, const Expr& a, const Expr& b) {
  const bool is_eq = op == Eq;
  if (a.is_const() || (!b.is_const() && compare(b, a) < 0)) return build_equality(op, b, a);
  if (!is_floating(a.dtype()) && same(a, b)) return is_eq;
  if (a.dtype() == DType::b8 && b.is_const()) return (b->i != 0) == is_eq ? a : build_not(a);
  // A truth value as a number.
  if (a.op() == Cast && a.arg(0).dtype() == DType::b8 && (b.is_const(0) || b.is_const(1)))
    return b.is_const(1) == is_eq ? a.arg(0) : build_not(a.arg(0));
  if (surely_lt(a, b) || surely_lt(b, a)) return !is_eq;
  if (a.dtype() == DType::i64 && surely_le(a, b) && surely_le(b, a)) return is_eq;
  return intern(op, DType::b8, {a, b});
}

// The operands of a chain of one operation, in order.
void flatten(ExprOp op, const Expr& e, std::vector<Expr>& out) {
  if (e.op() != op) return out.push_back(e);
  for (const Expr& a : e.args()) flatten(op, a, out);
}

Expr chain(ExprOp op, DType t, const std::vector<Expr>& parts) {
  Expr r = parts[0];
  for (std::size_t k = 1; k < parts.size(); k++) r = intern(op, t, {r, parts[k]});
  return r;
}

void sort_unique(std::vector<Expr>& parts) {
  std::sort(parts.begin(), parts.end(), ExprLess());
  parts.erase(std::unique(parts.begin(), parts.end(), ExprSame()), parts.end());
}

}  // namespace

Expr build_comparison(ExprOp op, const Expr& a, const Expr& b) {
  if (a.is_const() && b.is_const()) return fold_compare(op, a, b);
  if (op == Lt) return build_lt(a, b);
  return op == Le ? build_le(a, b) : build_equality(op, a, b);
}

Expr build_not(const Expr& a) {
  if (a.is_const()) return a->i == 0;
  const bool exact = a.args().size() == 2 && !is_floating(a.arg(0).dtype());  // no NaN that makes both false
  switch (a.op()) {
    case Not: return a.arg(0);
    case Eq: return build_comparison(Ne, a.arg(0), a.arg(1));
    case Ne: return build_comparison(Eq, a.arg(0), a.arg(1));
    case Lt:
      if (exact) return build_comparison(Le, a.arg(1), a.arg(0));
      break;
    case Le:
      if (exact) return build_comparison(Lt, a.arg(1), a.arg(0));
      break;
    default: break;
  }
  return intern(Not, DType::b8, {a});
}

Expr build_connective(ExprOp op, const Expr& a, const Expr& b) {
  const bool neutral = op == And;
  std::vector<Expr> all, parts;
  flatten(op, a, all);
  flatten(op, b, all);
  for (const Expr& x : all) {
    if (!x.is_const()) parts.push_back(x);
    else if ((x->i != 0) != neutral) return !neutral;
  }
  sort_unique(parts);
  if (parts.empty()) return neutral;
  for (const Expr& x : parts)
    if (std::binary_search(parts.begin(), parts.end(), build_not(x), ExprLess())) return !neutral;
  return chain(op, DType::b8, parts);
}

Expr build_extremum(ExprOp op, const Expr& a, const Expr& b) {
  const DType t = a.dtype();
  if (is_floating(t)) {
    if (a.is_const() && b.is_const()) return Expr::constant(t, *fold_float(op, t, a->f, b->f));
    return same(a, b) ? a : intern(op, t, {a, b});
  }
  if (a.is_const() && b.is_const()) return Expr::constant(t, *fold_integer(op, t, a->i, b->i));
  std::vector<Expr> parts;
  flatten(op, a, parts);
  flatten(op, b, parts);
  sort_unique(parts);
  // Drops every part that another one always decides against.
  for (std::size_t k = 0; k < parts.size();) {
    const bool covered = std::any_of(parts.begin(), parts.end(), [&](const Expr& other) {
      return !same(other, parts[k]) && (op == Min ? surely_le(other, parts[k]) : surely_le(parts[k], other));
    });
    if (covered) parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(k));
    else k++;
  }
  std::rotate(parts.begin(), std::find_if(parts.begin(), parts.end(), [](const Expr& e) { return !e.is_const(); }),
              parts.end());  // the constant, if any, was first
  return chain(op, t, parts);
}

Expr select(const Expr& condition, const Expr& a, const Expr& b) {
  INGOT_ENSURE(condition.dtype() == DType::b8, "a condition is b8, not ", short_name_of(condition.dtype()));
  Expr x = a, y = b;
  const std::string problem = unify(x, y);
  INGOT_ENSURE(problem.empty(), "", problem);
  if (condition.is_const()) return condition->i != 0 ? x : y;
  if (condition.op() == Not) return select(condition.arg(0), y, x);
  if (x.op() == Select && same(x.arg(0), condition)) x = x.arg(1);
  if (y.op() == Select && same(y.arg(0), condition)) y = y.arg(2);
  if (same(x, y)) return x;
  if (x.dtype() == DType::b8 && x.is_const() && y.is_const()) return x->i != 0 ? condition : build_not(condition);
  return intern(Select, x.dtype(), {condition, x, y});
}

Expr lt(const Expr& a, const Expr& b) { return build_binary(Lt, a, b); }
Expr le(const Expr& a, const Expr& b) { return build_binary(Le, a, b); }
Expr eq(const Expr& a, const Expr& b) { return build_binary(Eq, a, b); }
Expr ne(const Expr& a, const Expr& b) { return build_binary(Ne, a, b); }
Expr logical_and(const Expr& a, const Expr& b) { return build_binary(And, a, b); }
Expr logical_or(const Expr& a, const Expr& b) { return build_binary(Or, a, b); }
Expr logical_not(const Expr& a) { return build_unary(Not, a); }

}  // namespace ingot
