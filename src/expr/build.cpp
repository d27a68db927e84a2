// Leaves, constants, arithmetic and casts.
#include "expr/build.hpp"

#include <atomic>
#include <cctype>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "expr/intern.hpp"
#include "expr/memo.hpp"
#include "expr/op_info.hpp"
#include "expr/polynomial.hpp"
#include "expr/scalar.hpp"

namespace ingot {
namespace {

using enum ExprOp;

bool is_identifier(std::string_view s) {
  if (s.empty() || std::isdigit(static_cast<unsigned char>(s[0])) || s[0] == '.') return false;
  for (char c : s)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.') return false;
  for (std::string_view word : {"and", "or", "not", "true", "false", "inf", "nan"})
    if (s == word) return false;
  return true;
}

void check_name(std::string_view name) {
  INGOT_REQUIRE(is_identifier(name), "'", name, "' cannot name a value in an expression: expected letters, digits, ",
                "'_' and '.', not starting with a digit, and not a keyword");
}

Expr constant_as(DType t, const Expr& c) { return is_floating(c.dtype()) ? Expr::constant(t, c->f) : Expr::constant(t, c->i); }

bool accepts(Operand operand, DType t) {
  switch (operand) {
    case Operand::Any: return !is_complex(t);
    case Operand::Number: return is_floating(t) || is_integral(t);
    case Operand::Floating: return is_floating(t);
    case Operand::Integer: return is_integral(t);
    case Operand::Bits: return is_integral(t) || t == DType::b8;
    case Operand::Bool: return t == DType::b8;
  }
  return false;
}

std::string refuse(ExprOp op, DType t) {
  return text(name_of(op), " does not take ", short_name_of(t), op == FDiv ? "; integers use floor_div" : "");
}

// Constants right of everything else, where order does not change the value.
void constant_last(Expr& a, Expr& b) {
  if (a.is_const()) std::swap(a, b);
}
void in_order(Expr& a, Expr& b) {
  if (a.is_const() || (!b.is_const() && compare(b, a) < 0)) std::swap(a, b);
}

bool is_negative_zero(const Expr& e) { return e.is_const() && e->f == 0 && std::signbit(e->f); }

Expr float_binary(ExprOp op, Expr a, Expr b) {
  const DType t = a.dtype();
  if (a.is_const() && b.is_const())
    if (const auto v = fold_float(op, t, a->f, b->f)) return Expr::constant(t, *v);
  switch (op) {
    case Add:
      constant_last(a, b);
      if (is_negative_zero(b)) return a;  // x + 0 is not x for -0
      break;
    case Mul:
      constant_last(a, b);
      if (b.is_const(1)) return a;
      break;
    case FDiv: {
      if (!b.is_const()) break;
      if (b.is_const(1)) return a;
      int exponent;
      // Both ways round the same real number, as long as the reciprocal is exact.
      const double inverse = 1 / b->f;
      if (std::abs(std::frexp(b->f, &exponent)) == 0.5 && std::isfinite(inverse) && round_to(t, inverse) == inverse)
        return float_binary(Mul, a, Expr::constant(t, inverse));
      break;
    }
    default: break;
  }
  return intern(op, t, {a, b});
}

Expr narrow_integer_binary(ExprOp op, Expr a, Expr b) {
  const DType t = a.dtype();
  if (a.is_const() && b.is_const())
    if (const auto v = fold_integer(op, t, a->i, b->i)) return Expr::constant(t, *v);
  switch (op) {
    case Add:
      in_order(a, b);
      if (b.is_const(0)) return a;
      break;
    case Mul:
      in_order(a, b);
      if (b.is_const(0)) return b;
      if (b.is_const(1)) return a;
      break;
    case FloorDiv:
      if (b.is_const(1)) return a;
      break;
    case BitAnd:
    case BitOr:
    case BitXor: in_order(a, b); break;
    case Shl:
    case Shr:
      if (b.is_const(0)) return a;
      break;
    default: break;
  }
  return intern(op, t, {a, b});
}

Expr i64_binary(ExprOp op, const Expr& a, const Expr& b) {
  switch (op) {
    case Add: {
      if (a.is_const(0)) return b;
      if (b.is_const(0)) return a;
      Poly p = to_poly(a);
      add_scaled(p, to_poly(b), 1);
      return from_poly(std::move(p));
    }
    case Mul:
      if (a.is_const(1)) return b;
      if (b.is_const(1)) return a;
      return from_poly(multiply(to_poly(a), to_poly(b)));
    case FloorDiv:
    case Mod: return divide_i64(op, a, b);
    // A shift by a constant is arithmetic, which simplifies.
    case Shl:
      if (b.is_const() && b->i >= 0 && b->i < 63) return a * Expr(int64_t{1} << b->i);
      break;
    case Shr:
      if (b.is_const() && b->i >= 0 && b->i < 63) return divide_i64(FloorDiv, a, Expr(int64_t{1} << b->i));
      break;
    default: break;
  }
  return narrow_integer_binary(op, a, b);
}

Expr bool_bits(ExprOp op, const Expr& a, const Expr& b) {
  if (op == BitXor) return build_comparison(Ne, a, b);
  return build_connective(op == BitAnd ? And : Or, a, b);
}

// Of operands that fit it.
Expr simplified_binary(ExprOp op, const Expr& a, const Expr& b) {
  switch (op) {
    case Lt:
    case Le:
    case Eq:
    case Ne: return build_comparison(op, a, b);
    case And:
    case Or: return build_connective(op, a, b);
    case Min:
    case Max: return build_extremum(op, a, b);
    default: break;
  }
  if (a.dtype() == DType::b8) return bool_bits(op, a, b);
  if (is_floating(a.dtype())) return float_binary(op, a, b);
  return a.dtype() == DType::i64 ? i64_binary(op, a, b) : narrow_integer_binary(op, a, b);
}

}  // namespace

bool is_literal(const Expr& e) { return e.is_const() && (e.dtype() == DType::i64 || e.dtype() == DType::f64); }

std::string unify(Expr& a, Expr& b) {
  if (a.dtype() == b.dtype()) return {};
  // An integer literal fits every type; a float literal every floating type.
  auto adapts = [](const Expr& c, DType t) {
    if (!is_literal(c)) return false;
    if (c.dtype() == DType::f64) return is_floating(t);
    return t == DType::b8 ? c->i == 0 || c->i == 1 : is_floating(t) || is_integral(t);
  };
  const bool a_is_integer_literal = is_literal(a) && a.dtype() == DType::i64;
  if (adapts(b, a.dtype()) && !(a_is_integer_literal && b.dtype() == DType::f64)) b = constant_as(a.dtype(), b);
  else if (adapts(a, b.dtype())) a = constant_as(b.dtype(), a);
  else return text("operands of type ", short_name_of(a.dtype()), " and ", short_name_of(b.dtype()), " need a cast");
  return {};
}

std::string prepare(ExprOp op, Expr& a, Expr& b) {
  if (std::string problem = unify(a, b); !problem.empty()) return problem;
  if (info_of(op).operand == Operand::Floating && is_literal(a) && is_literal(b)) {
    a = constant_as(DType::f64, a);
    b = constant_as(DType::f64, b);
  }
  return accepts(info_of(op).operand, a.dtype()) ? std::string() : refuse(op, a.dtype());
}

std::string prepare(ExprOp op, Expr& a) {
  if (info_of(op).operand == Operand::Floating && is_literal(a)) a = constant_as(DType::f64, a);
  return accepts(info_of(op).operand, a.dtype()) ? std::string() : refuse(op, a.dtype());
}

Expr build_unary(ExprOp op, Expr a) {
  const std::string problem = prepare(op, a);
  INGOT_ENSURE(problem.empty(), "", problem);
  const DType t = a.dtype();
  const bool integer = is_integral(t);
  if (op == Not) return build_not(a);
  if (op == IsNan || op == IsInf) {
    if (integer) return Expr::boolean(false);
    if (a.is_const()) return Expr::boolean(op == IsNan ? std::isnan(a->f) : std::isinf(a->f));
    return intern(op, DType::b8, {a});
  }
  if (integer) {
    if (op == Floor || op == Ceil || op == Round || op == Trunc) return a;
    if (op == Neg && t == DType::i64) return a * Expr(-1);
    if (op == Abs && a->lo >= 0) return a;
    if (op == Abs && t == DType::i64 && a->hi <= 0) return a * Expr(-1);
  }
  if (a.is_const()) {
    if (integer) {
      if (const auto v = fold_integer(op, t, a->i)) return Expr::constant(t, *v);
    } else if (const auto v = fold_float(op, t, a->f)) {
      return Expr::constant(t, *v);
    }
  }
  if (op == Neg && a.op() == Neg) return a.arg(0);
  return intern(op, t, {a});
}

Expr build_binary(ExprOp op, Expr a, Expr b) {
  const std::string problem = prepare(op, a, b);
  INGOT_ENSURE(problem.empty(), "", problem);
  const bool is_worth_it = a.dtype() == DType::i64 && !(a.is_const() && b.is_const()) && !inside_proof();
  if (!is_worth_it) return simplified_binary(op, a, b);
  if (const Expr known = remembered(op, a, b); known.valid()) return known;
  const Expr result = simplified_binary(op, a, b);
  remember(op, a, b, result);
  return result;
}

Expr cast(DType t, const Expr& a) {
  INGOT_ENSURE(!is_complex(t), "expressions are real");
  if (a.dtype() == t) return a;
  if (a.is_const()) {
    if (!is_floating(a.dtype())) {
      // A u64 beyond int64 keeps its bits in the payload.
      const bool large = a.dtype() == DType::u64 && a->i < 0;
      if (large && is_floating(t)) return Expr::constant(t, static_cast<double>(static_cast<uint64_t>(a->i)));
      return constant_as(t, a);
    }
    if (is_floating(t)) return constant_as(t, a);
    if (t == DType::b8) return Expr::boolean(a->f != 0);
    const double v = std::trunc(a->f);
    if (v >= -0x1p63 && v < 0x1p63 && wrap_to(t, static_cast<int64_t>(v)) == static_cast<int64_t>(v))
      return Expr::constant(t, static_cast<int64_t>(v));
  }
  return intern(Cast, t, {a});
}

Expr Expr::integer_constant(DType t, int64_t v) {
  INGOT_ENSURE(!is_complex(t), "expressions are real");
  if (is_floating(t)) return float_constant(t, static_cast<double>(v));
  // Small numbers are asked for all the time.
  static std::atomic<const ExprNode*> small[1024];
  const bool is_small = t == DType::i64 && v >= 0 && v < static_cast<int64_t>(std::size(small));
  if (is_small)
    if (const ExprNode* known = small[v].load(std::memory_order_acquire)) return Expr(known);
  const Expr e = intern_leaf(Const, t, wrap_to(t, v), 0, {}, {});
  if (is_small) small[v].store(e.node(), std::memory_order_release);
  return e;
}

Expr Expr::float_constant(DType t, double v) {
  if (!is_floating(t)) {
    INGOT_ENSURE(std::trunc(v) == v && std::abs(v) < 0x1p63, "a fraction as a constant of an integer type");
    return integer_constant(t, static_cast<int64_t>(v));
  }
  return intern_leaf(Const, t, 0, round_to(t, v), {}, {});
}

Expr Expr::symbol(std::string_view name, int64_t lo, int64_t hi) {
  check_name(name);
  INGOT_REQUIRE(lo <= hi && lo != Range::kMax && hi != Range::kMin, "symbol '", name, "' has the empty range [", lo, ", ", hi,
                "]");
  return intern_leaf(Sym, DType::i64, 0, 0, name, {}, lo, hi);
}

Expr Expr::float_symbol(std::string_view name) {
  check_name(name);
  return intern_leaf(Sym, DType::f64, 0, 0, name, {}, Range::kMin, Range::kMax);
}

Expr Expr::index(int64_t id, const Expr& extent, std::string_view name) {
  INGOT_ENSURE(extent.dtype() == DType::i64, "an extent is i64");
  if (!name.empty()) check_name(name);
  return intern_leaf(Idx, DType::i64, id, 0, name, {extent});
}

Expr Expr::tmp(int64_t id, DType t, std::string_view name) {
  if (!name.empty()) check_name(name);
  return intern_leaf(Tmp, t, id, 0, name, {});
}

Expr Expr::load(int64_t buffer, DType t, std::vector<Expr> indices, std::string_view name) {
  if (!name.empty()) check_name(name);
  for (const Expr& i : indices) INGOT_ENSURE(i.dtype() == DType::i64, "an index is i64, not ", short_name_of(i.dtype()));
  return intern_leaf(Load, t, buffer, 0, name, std::move(indices));
}

Expr build(ExprOp op, DType dtype, std::span<const Expr> args) {
  switch (info_of(op).arity) {
    case Arity::Unary: return build_unary(op, args[0]);
    case Arity::Cast: return cast(dtype, args[0]);
    case Arity::Select: return select(args[0], args[1], args[2]);
    case Arity::Binary: {
      Expr r = build_binary(op, args[0], args[1]);
      for (const Expr& a : args.subspan(2)) r = build_binary(op, r, a);
      return r;
    }
    case Arity::Leaf: break;
  }
  INGOT_ENSURE(false, "build makes operations, not leaves");
  return Expr();
}

Expr operator+(const Expr& a, const Expr& b) { return build_binary(Add, a, b); }
Expr operator-(const Expr& a) { return build_unary(Neg, a); }
Expr operator-(const Expr& a, const Expr& b) { return build_binary(Add, a, -b); }
Expr operator*(const Expr& a, const Expr& b) { return build_binary(Mul, a, b); }
Expr operator/(const Expr& a, const Expr& b) { return build_binary(FDiv, a, b); }
Expr floor_div(const Expr& a, const Expr& b) { return build_binary(FloorDiv, a, b); }
Expr mod(const Expr& a, const Expr& b) { return build_binary(Mod, a, b); }
Expr min(const Expr& a, const Expr& b) { return build_binary(Min, a, b); }
Expr max(const Expr& a, const Expr& b) { return build_binary(Max, a, b); }
Expr operator&(const Expr& a, const Expr& b) { return build_binary(BitAnd, a, b); }
Expr operator|(const Expr& a, const Expr& b) { return build_binary(BitOr, a, b); }
Expr operator^(const Expr& a, const Expr& b) { return build_binary(BitXor, a, b); }
Expr operator~(const Expr& a) { return a.dtype() == DType::b8 ? logical_not(a) : a ^ Expr(-1); }
Expr operator<<(const Expr& a, const Expr& b) { return build_binary(Shl, a, b); }
Expr operator>>(const Expr& a, const Expr& b) { return build_binary(Shr, a, b); }
Expr atan2(const Expr& a, const Expr& b) { return build_binary(Atan2, a, b); }
Expr pow(const Expr& a, const Expr& b) { return build_binary(Pow, a, b); }
Expr fmod(const Expr& a, const Expr& b) { return build_binary(Fmod, a, b); }
Expr copysign(const Expr& a, const Expr& b) { return build_binary(Copysign, a, b); }
Expr abs(const Expr& a) { return build_unary(Abs, a); }
Expr sign(const Expr& a) { return a.dtype() == DType::b8 ? a : build_unary(Sign, a); }
Expr floor(const Expr& a) { return build_unary(Floor, a); }
Expr ceil(const Expr& a) { return build_unary(Ceil, a); }
Expr round(const Expr& a) { return build_unary(Round, a); }
Expr trunc(const Expr& a) { return build_unary(Trunc, a); }
Expr exp(const Expr& a) { return build_unary(Exp, a); }
Expr exp2(const Expr& a) { return build_unary(Exp2, a); }
Expr expm1(const Expr& a) { return build_unary(Expm1, a); }
Expr log(const Expr& a) { return build_unary(Log, a); }
Expr log2(const Expr& a) { return build_unary(Log2, a); }
Expr log10(const Expr& a) { return build_unary(Log10, a); }
Expr log1p(const Expr& a) { return build_unary(Log1p, a); }
Expr sqrt(const Expr& a) { return build_unary(Sqrt, a); }
Expr rsqrt(const Expr& a) { return build_unary(Rsqrt, a); }
Expr sin(const Expr& a) { return build_unary(Sin, a); }
Expr cos(const Expr& a) { return build_unary(Cos, a); }
Expr tan(const Expr& a) { return build_unary(Tan, a); }
Expr asin(const Expr& a) { return build_unary(Asin, a); }
Expr acos(const Expr& a) { return build_unary(Acos, a); }
Expr atan(const Expr& a) { return build_unary(Atan, a); }
Expr sinh(const Expr& a) { return build_unary(Sinh, a); }
Expr cosh(const Expr& a) { return build_unary(Cosh, a); }
Expr tanh(const Expr& a) { return build_unary(Tanh, a); }
Expr asinh(const Expr& a) { return build_unary(Asinh, a); }
Expr acosh(const Expr& a) { return build_unary(Acosh, a); }
Expr atanh(const Expr& a) { return build_unary(Atanh, a); }
Expr erf(const Expr& a) { return build_unary(Erf, a); }
Expr erfc(const Expr& a) { return build_unary(Erfc, a); }
Expr lgamma(const Expr& a) { return build_unary(Lgamma, a); }
Expr digamma(const Expr& a) { return build_unary(Digamma, a); }
Expr isnan(const Expr& a) { return build_unary(IsNan, a); }
Expr isinf(const Expr& a) { return build_unary(IsInf, a); }

}  // namespace ingot
