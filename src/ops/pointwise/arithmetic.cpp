// Arithmetic: + - * / and their kin, with broadcasting and ATen's type promotion.
#include <numeric>

#include "base/error.hpp"
#include "op/promotion.hpp"
#include "ops/family.hpp"
#include "ops/pointwise/formula_math.hpp"
#include "ops/pointwise/rules.hpp"

namespace ingot {
namespace {

inline constexpr Traits no_alpha{.promoting = 0b011};
inline constexpr Traits no_value{.promoting = 0b0111};

// Sums and products of bools are `or` and `and`.
constexpr auto mul_formula = []<Number T>(T a, T b) {
  if constexpr (std::same_as<T, Expr>)
    if (a.dtype() == DType::b8) return a & b;
  return T(a * b);
};
constexpr auto add_formula = []<Number T>(T a, T b, T alpha) {
  if constexpr (std::same_as<T, Expr>)
    if (a.dtype() == DType::b8) return a | (alpha & b);
  return T(a + alpha * b);
};
constexpr auto sub_formula = []<Number T>(T a, T b, T alpha) { return T(a - alpha * b); };
constexpr auto rsub_formula = []<Number T>(T a, T b, T alpha) { return T(b - alpha * a); };
constexpr auto div_formula = []<Inexact T>(T a, T b) { return a / b; };

DType promoted(const Call& c, std::size_t operands) { return result_type(c.args.first(operands)); }

// A factor must not have a higher category than the operands: 2.5 times an int tensor has no int
// result.
void check_factor(std::string_view name, const Value& factor, DType t) {
  INGOT_REQUIRE(is_floating(t) || is_complex(t) || !factor.is_float(), "For integral input tensors, argument ", name,
                " must not be a floating point number.");
  INGOT_REQUIRE(is_complex(t) || !factor.is_complex(), "For non-complex input tensors, argument ", name,
                " must not be a complex number.");
}
void add_meta(const Call& c, Outputs& out) {
  const DType t = promoted(c, 2);
  INGOT_REQUIRE(!c[2].is_bool() || t == DType::b8, "Boolean alpha only supported for Boolean results.");
  check_factor("alpha", c[2], t);
  pointwise_meta(c, out);
}
bool is_of_bools(const Value& v) { return v.is_bool() || (v.is_tensor() && v.tensor().dtype() == DType::b8); }
void sub_meta(const Call& c, Outputs& out) {
  INGOT_REQUIRE(!is_of_bools(c[0]) || !is_of_bools(c[1]),
                "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
                "`logical_xor()` operator instead.");
  INGOT_REQUIRE(!is_of_bools(c[0]) && !is_of_bools(c[1]),
                "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the "
                "`~` or `logical_not()` operator instead.");
  add_meta(c, out);
}
void neg_meta(const Call& c, Outputs& out) {
  INGOT_REQUIRE(
      !is_of_bools(c[0]),
      "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
      "`logical_not()` operator instead.");
  pointwise_meta(c, out);
}
void addcmul_meta(const Call& c, Outputs& out) {
  check_factor("value", c[3], promoted(c, 3));
  pointwise_meta(c, out);
}
void addcdiv_meta(const Call& c, Outputs& out) {
  const DType t = promoted(c, 3);
  INGOT_REQUIRE(
      is_floating(t) || is_complex(t),
      "Integer division with addcdiv is no longer supported, and in a future release addcdiv will "
      "perform a true division of tensor1 and tensor2. Use self + value * trunc(tensor1 / tensor2) or convert to a floating type");
  pointwise_meta(c, out);
}
void lerp_meta(const Call& c, Outputs& out) {
  INGOT_REQUIRE(!c[1].is_tensor() || c.tensor(0).dtype() == c.tensor(1).dtype(), "expected dtype ", name_of(c.tensor(0).dtype()),
                " for `end` but got dtype ", c[1].is_tensor() ? name_of(c.tensor(1).dtype()) : "");
  pointwise_meta(c, out);
}

void add_vjp(Vjp& v) {
  if (v.need(0)) v.set(0, v.grad());
  if (v.need(1)) v.set(1, times_conjugate(v.grad(), v.arg(2)));
}
void sub_vjp(Vjp& v) {
  if (v.need(0)) v.set(0, v.grad());
  if (v.need(1)) v.set(1, times_conjugate(-v.grad(), v.arg(2)));
}
void rsub_vjp(Vjp& v) {
  if (v.need(0)) v.set(0, times_conjugate(-v.grad(), v.arg(2)));
  if (v.need(1)) v.set(1, v.grad());
}
void mul_vjp(Vjp& v) {
  if (v.need(0)) v.set(0, aten<"mul.Tensor">(v.grad(), conjugate(v.arg(1))));
  if (v.need(1)) v.set(1, aten<"mul.Tensor">(v.grad(), conjugate(v.arg(0))));
}
void div_vjp(Vjp& v) {
  if (v.need(0)) v.set(0, aten<"div.Tensor">(v.grad(), conjugate(v.arg(1))));
  if (v.need(1)) v.set(1, -v.grad() * conjugate(aten<"div.Tensor">(aten<"div.Tensor">(v.arg(0), v.arg(1)), v.arg(1))));
}
void addcmul_vjp(Vjp& v) {
  auto other = [&](int i) { return conjugate(aten<"mul.Tensor">(v.saved(i), v.arg(3))); };
  if (v.need(0)) v.set(0, v.grad());
  if (v.need(1)) v.set(1, v.grad() * other(2));
  if (v.need(2)) v.set(2, v.grad() * other(1));
}
void addcdiv_vjp(Vjp& v) {
  if (v.need(0)) v.set(0, v.grad());
  if (v.need(1)) v.set(1, v.grad() * conjugate(aten<"div.Tensor">(v.arg(3), v.saved(2))));
  if (v.need(2)) {
    const Tensor d = v.saved(2);
    v.set(2, -v.grad() * conjugate(aten<"mul.Tensor">(v.saved(1), v.arg(3)) / (d * d)));
  }
}

// Exact at both ends.
constexpr auto lerp_formula = []<Inexact T>(T a, T b, T w) {
  if constexpr (Complex<T>) return std::abs(w) < 0.5 ? a + w * (b - a) : b - (b - a) * (T(1) - w);
  else return where(abs(w) < T(0.5), a + w * (b - a), b - (b - a) * (T(1) - w));
};
void lerp_scalar_vjp(Vjp& v) {
  if (v.need(0)) v.set(0, aten<"mul.Tensor">(v.grad(), 1 - v.arg(2).to_double()));
  if (v.need(1)) v.set(1, aten<"mul.Tensor">(v.grad(), v.arg(2)));
}
void lerp_tensor_vjp(Vjp& v) {
  if (v.need(0)) v.set(0, v.grad() * conjugate(1 - v.saved(2)));
  if (v.need(1)) v.set(1, v.grad() * conjugate(v.saved(2)));
  if (v.need(2)) v.set(2, v.grad() * conjugate(v.saved(1) - v.saved(0)));
}

constexpr auto max_formula = []<Real T>(T a, T b) { return larger(a, b); };
constexpr auto min_formula = []<Real T>(T a, T b) { return smaller(a, b); };
// Equal operands share the gradient.
template <OpName Below, OpName Above>
void extremum_vjp(Vjp& v) {
  const Value &a = v.arg(0), &b = v.arg(1);
  const Tensor shared = aten<"where.self">(aten<"eq.Tensor">(a, b), v.grad() / 2, v.grad());
  if (v.need(0)) v.set(0, drop(aten<Below>(a, b), shared));
  if (v.need(1)) v.set(1, drop(aten<Above>(a, b), shared));
}
// fmax and fmin: a NaN loses against a number, the first of equals wins.
template <OpName Wins>
void fextremum_vjp(Vjp& v) {
  const Value &a = v.arg(0), &b = v.arg(1);
  const Tensor first = aten<"logical_or">(aten<Wins>(a, b), aten<"ne.Tensor">(b, b));
  if (v.need(0)) v.set(0, drop(aten<"logical_not">(first), v.grad()));
  if (v.need(1)) v.set(1, drop(first, v.grad()));
}

constexpr auto sign_formula = []<Real T>(T x) {
  if constexpr (std::same_as<T, bool>) return x;
  else return sign(x);
};
void sgn_vjp(Vjp& v) {
  if (!v.grad().is_complex()) return v.set(0, aten<"zeros_like">(v.grad()));
  const Tensor r = aten<"abs">(v.saved(0)), s = v.result();
  v.set(0, drop(r == 0, (v.grad() - s * s * conjugate(v.grad())) / (2 * r)));
}

constexpr auto copysign_formula = []<Floating T>(T a, T b) { return copysign(a, b); };
void copysign_vjp(Vjp& v) {
  if (v.need(0)) v.set(0, v.grad() * drop(v.saved(0) == 0, v.result() / v.saved(0)));
  if (v.need(1)) v.set(1, aten<"zeros_like">(v.grad()));
}

constexpr auto logaddexp_formula = []<Inexact T>(T a, T b) {
  // Two equal infinities would give inf - inf.
  if constexpr (Complex<T>) {
    const bool first = a.real() >= b.real();
    const T hi = first ? a : b, lo = first ? b : a;
    return std::isinf(hi.real()) && hi.real() == lo.real() ? hi : hi + log(T(1) + exp(lo - hi));
  } else {
    return where(isinf(a) && a == b, a, max(a, b) + log1p(exp(-abs(a - b))));
  }
};
constexpr auto logaddexp2_formula = []<Floating T>(T a, T b) {
  return where(isinf(a) && a == b, a, max(a, b) + log1p(exp2(-abs(a - b))) * T(1 / M_LN2));
};
template <OpName Exp>
void logaddexp_vjp(Vjp& v) {
  const Value &a = v.arg(0), &b = v.arg(1);
  if (v.need(0)) v.set(0, v.grad() / conjugate(aten<Exp>(aten<"sub.Tensor">(b, a)) + 1));
  if (v.need(1)) v.set(1, v.grad() / conjugate(aten<Exp>(aten<"sub.Tensor">(a, b)) + 1));
}

// Squares of large and small numbers are no numbers of the type any more: float64 has room for
// those of others, and its own are taken of the quotient of the two. An infinity stays one, also
// beside NaN.
[[maybe_unused]] Expr hypot_formula(const Expr& a, const Expr& b) {
  const DType t = a.dtype();
  const Expr x = abs(a), y = abs(b), infinity = Expr::constant(t, HUGE_VAL);
  const Expr larger = select(x > y, x, y), quotient = select(x > y, y, x) / larger;
  const auto squared = [](const Expr& e) { return cast(DType::f64, e) * cast(DType::f64, e); };
  const Expr root = t == DType::f64
                        ? select(x + y == Expr::constant(t, 0), larger, larger * sqrt(Expr::constant(t, 1) + quotient * quotient))
                        : cast(t, sqrt(squared(a) + squared(b)));
  return select(x == infinity || y == infinity, infinity, root);
}

constexpr OpDef kArithmeticOps[] = {
    with_meta(
        pointwise<3, no_alpha>("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", add_formula, add_vjp),
        add_meta),
    indexed(with_meta(pointwise<3, no_alpha>("aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", add_formula,
                                             same_gradient),
                      add_meta),
            1),
    with_meta(
        pointwise<3, no_alpha>("aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", sub_formula, sub_vjp),
        sub_meta),
    indexed(with_meta(pointwise<3, no_alpha>("aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", sub_formula,
                                             same_gradient),
                      sub_meta),
            1),
    indexed(with_meta(pointwise<3, no_alpha>("aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
                                             rsub_formula, rsub_vjp),
                      sub_meta),
            1),
    with_meta(pointwise<3, no_alpha>("aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", rsub_formula,
                                     rsub_vjp),
              sub_meta),
    binary("aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", mul_formula, mul_vjp, {{0, 1}, {1, 0}}),
    indexed(binary("aten::mul.Scalar(Tensor self, Scalar other) -> Tensor", mul_formula, mul_vjp), 1),
    binary<int_to_float>("aten::div.Tensor(Tensor self, Tensor other) -> Tensor", div_formula, div_vjp, {{0, 1}, {1}}),
    indexed(binary<int_to_float>("aten::div.Scalar(Tensor self, Scalar other) -> Tensor", div_formula, div_vjp), 1),
    with_meta(pointwise<4, no_value>("aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
                                     []<NumberNotBool T>(T a, T b, T c, T value) { return T(a + value * b * c); }, addcmul_vjp,
                                     {{1, 2}, {2, 1}}),
              addcmul_meta),
    with_meta(
        pointwise<4, no_value>("aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
                               []<Inexact T>(T a, T b, T c, T value) { return a + value * b / c; }, addcdiv_vjp, {{1, 2}, {2}}),
        addcdiv_meta),
    with_meta(pointwise<3, no_alpha>("aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor", lerp_formula,
                                     lerp_scalar_vjp),
              lerp_meta),
    indexed(with_meta(pointwise<3>("aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor", lerp_formula,
                                   lerp_tensor_vjp, {{0, 2}, {1, 2}, {2}}),
                      lerp_meta),
            1),
    binary("aten::maximum(Tensor self, Tensor other) -> Tensor", max_formula, extremum_vjp<"lt.Tensor", "gt.Tensor">, {{0}, {1}}),
    binary("aten::minimum(Tensor self, Tensor other) -> Tensor", min_formula, extremum_vjp<"gt.Tensor", "lt.Tensor">, {{0}, {1}}),
    binary("aten::fmax(Tensor self, Tensor other) -> Tensor", []<Real T>(T a, T b) { return where(b != b || a >= b, a, b); },
           fextremum_vjp<"ge.Tensor">, {{0}, {1}}),
    binary("aten::fmin(Tensor self, Tensor other) -> Tensor", []<Real T>(T a, T b) { return where(b != b || a <= b, a, b); },
           fextremum_vjp<"le.Tensor">, {{0}, {1}}),
    with_meta(
        unary(
            "aten::neg(Tensor self) -> Tensor", []<NumberNotBool T>(T x) { return T(-x); }, [](Vjp& v) { v.set(0, -v.grad()); }),
        neg_meta),
    unary(
        "aten::abs(Tensor self) -> Tensor", []<NumberNotBool T>(T x) { return abs(x); },
        [](Vjp& v) { v.set(0, v.grad() * aten<"sgn">(v.saved(0))); }, {{0}}),
    unary("aten::sign(Tensor self) -> Tensor", sign_formula, zero_gradients),
    unary("aten::sgn(Tensor self) -> Tensor",
          []<Number T>(T x) {
            if constexpr (Complex<T>) return x == T(0) ? T(0) : x / std::abs(x);
            else return sign_formula(x);
          },
          sgn_vjp, {{0}, {kResult}}),
    unary<int_to_float>(
        "aten::reciprocal(Tensor self) -> Tensor", []<Inexact T>(T x) { return T(1) / x; },
        [](Vjp& v) { v.set(0, -v.grad() * conjugate(v.result() * v.result())); }, {{kResult}}),
    binary(
        "aten::hypot(Tensor self, Tensor other) -> Tensor",
        []<Floating T>(T a, T b) {
          if constexpr (std::same_as<T, Expr>) return hypot_formula(a, b);
          else return std::hypot(a, b);
        },
        [](Vjp& v) {
          if (v.need(0)) v.set(0, v.grad() * v.saved(0) / v.result());
          if (v.need(1)) v.set(1, v.grad() * v.saved(1) / v.result());
        },
        {{0, 0}, {1, 1}, {kResult}}),
    binary<int_to_float>("aten::copysign.Tensor(Tensor self, Tensor other) -> Tensor", copysign_formula, copysign_vjp,
                         {{0, 0}, {kResult, 0}}),
    indexed(binary<int_to_float>("aten::copysign.Scalar(Tensor self, Scalar other) -> Tensor", copysign_formula, copysign_vjp,
                                 {{0}, {kResult}}),
            1),
    binary(
        "aten::nextafter(Tensor self, Tensor other) -> Tensor",
        []<std::floating_point T>(T a, T b) { return std::nextafter(a, b); },
        [](Vjp& v) {  // a step towards the other number, but for the last one
          if (v.need(0)) v.set(0, keep(aten<"ne.Tensor">(v.saved(0), v.saved(1)), v.grad()));
          if (v.need(1)) v.set(1, aten<"zeros_like">(v.grad()));
        },
        {{0, 0}, {1, 0}}),
    binary("aten::gcd(Tensor self, Tensor other) -> Tensor", []<std::same_as<int64_t> T>(T a, T b) { return std::gcd(a, b); }),
    binary("aten::lcm(Tensor self, Tensor other) -> Tensor", []<std::same_as<int64_t> T>(T a, T b) { return std::lcm(a, b); }),
    binary("aten::logaddexp(Tensor self, Tensor other) -> Tensor", logaddexp_formula, logaddexp_vjp<"exp">, {{0}, {1}}),
    binary("aten::logaddexp2(Tensor self, Tensor other) -> Tensor", logaddexp2_formula, logaddexp_vjp<"exp2">, {{0}, {1}}),

    composite("aten::positive(Tensor(a) self) -> Tensor(a)",
              [](const Call& c) -> Value {
                INGOT_REQUIRE(c.tensor(0).dtype() != DType::b8, "The `+` operator, on a bool tensor is not supported.");
                return c[0];
              }),
    alias_of<"abs">("aten::absolute(Tensor self) -> Tensor"),
    alias_of<"neg">("aten::negative(Tensor self) -> Tensor"),
    alias_of<"sub.Tensor">("aten::subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"),
    alias_of<"sub.Scalar">("aten::subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor"),
    alias_of<"mul.Tensor">("aten::multiply.Tensor(Tensor self, Tensor other) -> Tensor"),
    alias_of<"mul.Scalar">("aten::multiply.Scalar(Tensor self, Scalar other) -> Tensor"),
};

}  // namespace

INGOT_FAMILY(arithmetic, kArithmeticOps)

}  // namespace ingot
