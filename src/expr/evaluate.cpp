#include "expr/evaluate.hpp"

#include <unordered_map>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "expr/scalar.hpp"

namespace ingot {
namespace {

using enum ExprOp;

class Evaluator {
 public:
  explicit Evaluator(const std::function<int64_t(const Expr&)>& leaf) : leaf_(leaf) {}

  int64_t value(const Expr& e) {
    if (e.is_const() && !is_floating(e.dtype())) return e->i;
    if (const auto it = memo_.find(e.node()); it != memo_.end()) return it->second;
    INGOT_ENSURE(!is_floating(e.dtype()), "evaluate meets the float ", e);
    const int64_t v = compute(e);
    memo_.emplace(e.node(), v);
    return v;
  }

  // Of a floating expression.
  double real(const Expr& e) {
    if (e.is_const()) return e->f;
    if (const auto it = reals_.find(e.node()); it != reals_.end()) return it->second;
    const double v = compute_real(e);
    reals_.emplace(e.node(), v);
    return v;
  }

 private:
  const std::function<int64_t(const Expr&)>& leaf_;
  std::unordered_map<const ExprNode*, int64_t> memo_;
  std::unordered_map<const ExprNode*, double> reals_;

  int64_t compute(const Expr& e) {
    switch (e.op()) {
      case Sym:
      case Idx:
      case Tmp:
      case Load: return leaf_(e);
      case Select: return value(e.arg(value(e.arg(0)) != 0 ? 1 : 2));
      case And: return value(e.arg(0)) != 0 && value(e.arg(1)) != 0;
      case Or: return value(e.arg(0)) != 0 || value(e.arg(1)) != 0;
      case Not: return value(e.arg(0)) == 0;
      case Cast: return is_floating(e.arg(0).dtype()) ? truncated(e) : wrap_to(e.dtype(), value(e.arg(0)));
      case Lt:
      case Le:
      case Eq:
      case Ne: return compared(e);
      default: break;
    }
    if (e.args().size() == 1) {
      const auto v = fold_integer(e.op(), e.dtype(), value(e.arg(0)));
      INGOT_ENSURE(v, "evaluate does not know ", name_of(e.op()));
      return *v;
    }
    int64_t v = value(e.arg(0));
    for (const Expr& a : e.args().subspan(1)) v = combined(e, v, value(a));
    return v;
  }

  double compute_real(const Expr& e) {
    switch (e.op()) {
      case Sym: return static_cast<double>(leaf_(e));
      case Idx:
      case Tmp:
      case Load: throw_user_error(text("the value of ", e, " is not known when sizes are evaluated"));
      case Select: return real(e.arg(value(e.arg(0)) != 0 ? 1 : 2));
      case Cast:
        return round_to(e.dtype(), is_floating(e.arg(0).dtype()) ? real(e.arg(0)) : static_cast<double>(value(e.arg(0))));
      default: break;
    }
    std::optional<double> v;
    if (e.args().size() == 1) {
      v = fold_float(e.op(), e.dtype(), real(e.arg(0)));
    } else {
      v = real(e.arg(0));
      for (const Expr& a : e.args().subspan(1))
        if (v) v = fold_float(e.op(), e.dtype(), *v, real(a));
    }
    INGOT_REQUIRE(v, "cannot compute ", name_of(e.op()), " of these numbers in ", e);
    return *v;
  }

  int64_t truncated(const Expr& e) {
    const double v = real(e.arg(0));
    INGOT_REQUIRE(v >= -0x1p63 && v < 0x1p63, v, " is no 64-bit integer in ", e);
    return wrap_to(e.dtype(), static_cast<int64_t>(v));
  }

  int64_t compared(const Expr& e) {
    const DType t = e.arg(0).dtype();
    if (is_floating(t)) return fold_compare(e.op(), Expr::constant(t, real(e.arg(0))), Expr::constant(t, real(e.arg(1))));
    return fold_compare(e.op(), Expr::constant(t, value(e.arg(0))), Expr::constant(t, value(e.arg(1))));
  }

  static bool power_overflows(int64_t a, int64_t b) {
    if (a >= -1 && a <= 1) return false;
    int64_t v = 1;
    for (int64_t i = 0; i < b; i++)
      if (__builtin_mul_overflow(v, a, &v)) return true;
    return false;
  }
  static bool shift_overflows(int64_t a, int64_t b) {
    int64_t v;
    return b >= 63 ? a != 0 : b >= 0 && __builtin_mul_overflow(a, int64_t{1} << b, &v);
  }

  int64_t combined(const Expr& e, int64_t a, int64_t b) {
    int64_t v;
    const bool overflow =
        e.dtype() == DType::i64 &&
        ((e.op() == Add && __builtin_add_overflow(a, b, &v)) || (e.op() == Mul && __builtin_mul_overflow(a, b, &v)) ||
         (e.op() == Pow && power_overflows(a, b)) || (e.op() == Shl && shift_overflows(a, b)));
    INGOT_REQUIRE(!overflow, "integer overflow in ", e);
    const auto r = fold_integer(e.op(), e.dtype(), a, b);
    INGOT_REQUIRE(r, "division by zero or bad operand in ", e);
    return *r;
  }
};

}  // namespace

int64_t evaluate(const Expr& e, const std::function<int64_t(const Expr& leaf)>& leaf) { return Evaluator(leaf).value(e); }

double evaluate_real(const Expr& e, const std::function<int64_t(const Expr& leaf)>& leaf) { return Evaluator(leaf).real(e); }

int64_t evaluate(const Expr& e, const SymbolValues& symbols) {
  return evaluate(e, [&](const Expr& leaf) {
    INGOT_REQUIRE(leaf.op() == Sym, "the value of ", leaf, " is not known when sizes are evaluated");
    const auto it = symbols.find(leaf->name);
    INGOT_REQUIRE(it != symbols.end(), "no value is given for the symbol ", leaf->name);
    return it->second;
  });
}

}  // namespace ingot
