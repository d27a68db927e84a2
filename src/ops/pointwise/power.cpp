// Powers, and products with powers and logarithms.
#include "base/error.hpp"
#include "op/promotion.hpp"
#include "ops/family.hpp"
#include "ops/pointwise/formula_math.hpp"
#include "ops/pointwise/rules.hpp"

namespace ingot {
namespace {

constexpr auto pow_formula = []<NumberNotBool T>(T a, T b) { return power(a, b); };
constexpr auto pow_each_formula = []<NumberNotBool T>(T a, T b) { return power<false>(a, b); };

void pow_scalar_meta(const Call& c, Outputs& out) {
  INGOT_REQUIRE(is_floating(c.tensor(0).dtype()) || is_complex(c.tensor(0).dtype()) || !c[1].is_int() || !(c[1].to_int() < 0),
                "Integers to negative integer powers are not allowed.");
  pointwise_meta(c, out);
}
bool is_zero(const Value& number) { return number.to_scalar().to_complex() == std::complex<double>(0); }
Value less_one(const Value& exponent) {
  if (exponent.is_tensor()) return aten<"sub.Tensor">(exponent, 1);
  if (exponent.is_complex()) return exponent.to_scalar().to_complex() - 1.0;
  return exponent.is_int() ? Value(exponent.to_int() - 1) : Value(exponent.to_double() - 1);
}
void pow_scalar_vjp(Vjp& v) {
  const Value& e = v.arg(1);
  if (is_zero(e)) return v.set(0, aten<"zeros_like">(v.saved(0)));
  v.set(0, v.grad() * conjugate(aten<"mul.Tensor">(aten<"pow.Tensor_Scalar">(v.saved(0), less_one(e)), e)));
}
Tensor is_not_negative(const Value& x) { return aten<"ge.Scalar">(x.tensor().is_complex() ? aten<"real">(x) : x.tensor(), 0); }
void pow_tensor_vjp(Vjp& v) {
  const Value &base = v.arg(0), &e = v.arg(1);
  if (v.need(0)) {
    const Tensor g = v.grad() * conjugate(aten<"mul.Tensor">(aten<"pow.Tensor_Tensor">(base, less_one(e)), e));
    v.set(0, e.is_tensor() ? drop(e.tensor() == 0, g) : is_zero(e) ? aten<"zeros_like">(g) : g);
  }
  if (v.need(1)) {
    // 0^e is flat at e >= 0, where its logarithm is not.
    if (base.is_tensor()) {
      const Tensor g = v.grad() * conjugate(v.result() * log(base.tensor()));
      v.set(1, drop(aten<"logical_and">(base.tensor() == 0, is_not_negative(e)), g));
    } else if (is_zero(base)) {
      v.set(1, drop(is_not_negative(e), v.grad() * conjugate(v.result() * Scalar(-INFINITY))));
    } else {
      const std::complex<double> l = std::log(base.to_scalar().to_complex());
      v.set(1, v.grad() * conjugate(v.result() * (l.imag() == 0 ? Scalar(l.real()) : Scalar(l))));
    }
  }
}

// Both operands in double, or complex double.
Value as_double(const Value& v, bool complex) {
  if (v.is_tensor()) return aten<"to.dtype">(v, complex ? DType::c128 : DType::f64);
  return complex ? Value(v.to_scalar().to_complex()) : Value(v.to_double());
}
template <OpName Pow>
Value float_power(const Call& c) {
  const bool complex = is_complex(result_type(c.args));
  return aten<Pow>(as_double(c[0], complex), as_double(c[1], complex));
}

// self * 2^other. By a whole number only the exponent changes: no power overflows on the way, and
// the dtype is self's.
Value ldexp_body(const Call& c) {
  const Tensor &self = c.tensor(0), &other = c.tensor(1);
  if (!is_integral(other.dtype()) || self.is_complex()) return aten<"mul.Tensor">(self, aten<"pow.Scalar">(2.0, other));
  // Any number of double becomes any other, or infinity or zero, by three factors that are numbers
  // of double. PyTorch takes 32 bits of the exponent.
  const Tensor exponent = aten<"clamp">(aten<"to.dtype">(aten<"to.dtype">(other, DType::i32), DType::f64), -2400, 2400);
  const Tensor third = aten<"trunc">(exponent / 3), factor = aten<"exp2">(third);
  const Tensor result = aten<"to.dtype">(self, DType::f64) * factor * factor * aten<"exp2">(exponent - third - third);
  return aten<"to.dtype">(result, self.is_floating_point() ? self.dtype() : DType::f32);
}
void ldexp_vjp(Vjp& v) {
  if (v.need(0)) v.set(0, v.grad() * aten<"pow.Scalar">(2.0, v.saved(1)));
  if (v.need(1)) v.set(1, v.grad() * v.result() * M_LN2);
}

// x·f(y), zero where x is zero even if f(y) is infinite, NaN where y is. Of half types f(y) is one.
template <DType Small, class T>
T times_log(const T& x, const T& y, const T& log_of_y) {
  return where(y != y, y, where(x == T(0), T(0), x * as_small<Small>(log_of_y)));
}
template <DType Small>
struct TimesLog {
  template <Floating T> T operator()(T x, T y) const { return times_log<Small>(x, y, T(log(y))); }
};
template <DType Small>
struct TimesLog1p {
  template <Floating T> T operator()(T x, T y) const { return times_log<Small>(x, y, T(log1p(y))); }
};
template <template <DType> class F>
constexpr OpDef times(std::string_view schema, VjpRule vjp, Saves saves) {
  return pointwise_choice(schema, formula_by_size<F, 2, int_to_float>, vjp, saves);
}
void xlogy_vjp(Vjp& v) {
  const Value &x = v.arg(0), &y = v.arg(1);
  if (v.need(0)) {
    const Tensor g = aten<"xlogy.Tensor">(v.grad(), y), zero = aten<"eq.Scalar">(x, 0);
    if (y.is_tensor()) v.set(0, drop(aten<"logical_and">(zero, aten<"le.Scalar">(y, 0)), g));
    else v.set(0, y.to_double() > 0 ? g : drop(zero, g));
  }
  if (v.need(1)) v.set(1, aten<"mul.Tensor">(v.grad(), x) / y.tensor());
}
void xlog1py_vjp(Vjp& v) {
  const Value &x = v.arg(0), &y = v.arg(1);
  if (v.need(0)) {
    const Tensor g = aten<"special_xlog1py">(v.grad(), y), zero = aten<"eq.Scalar">(x, 0);
    if (y.is_tensor()) v.set(0, drop(aten<"logical_and">(zero, aten<"le.Scalar">(y, -1)), g));
    else v.set(0, y.to_double() > -1 ? g : drop(zero, g));
  }
  if (v.need(1)) v.set(1, aten<"mul.Tensor">(v.grad(), x) / (y.tensor() + 1));
}

constexpr OpDef kPowerOps[] = {
    with_meta(binary("aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", pow_formula, pow_scalar_vjp, {{0}}),
              pow_scalar_meta),
    indexed(binary("aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", pow_each_formula, pow_tensor_vjp,
                   {{0}, {1}, {kResult, 1}}),
            1),
    indexed(
        binary("aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor", pow_each_formula, pow_tensor_vjp, {{1}, {kResult}}),
        2),
    composite("aten::float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", float_power<"pow.Tensor_Tensor">),
    composite("aten::float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", float_power<"pow.Tensor_Scalar">),
    composite("aten::float_power.Scalar(Scalar self, Tensor exponent) -> Tensor", float_power<"pow.Scalar">),
    composite("aten::square(Tensor self) -> Tensor", [](const Call& c) -> Value { return aten<"pow.Tensor_Scalar">(c[0], 2); }),
    {.schema = "aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor",
     .body = ldexp_body,
     .vjp = ldexp_vjp,
     .saves = {{1, 0}, {kResult, 1}}},

    times<TimesLog>("aten::xlogy.Tensor(Tensor self, Tensor other) -> Tensor", xlogy_vjp, {{0}, {1}}),
    indexed(times<TimesLog>("aten::xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor", xlogy_vjp, {{1}}), 1),
    indexed(times<TimesLog>("aten::xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor", xlogy_vjp, {{0}}), 2),
    times<TimesLog1p>("aten::special_xlog1py(Tensor self, Tensor other) -> Tensor", xlog1py_vjp, {{0}, {1}}),
    indexed(times<TimesLog1p>("aten::special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor", xlog1py_vjp, {{1}}), 1),
    indexed(times<TimesLog1p>("aten::special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor", xlog1py_vjp, {{0}}), 2),
    alias_of<"xlogy.Tensor">("aten::special_xlogy(Tensor self, Tensor other) -> Tensor"),
    alias_of<"xlogy.Scalar_Self">("aten::special_xlogy.self_scalar(Scalar self, Tensor other) -> Tensor"),
    alias_of<"xlogy.Scalar_Other">("aten::special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor"),
};

}  // namespace

INGOT_FAMILY(power, kPowerOps)

}  // namespace ingot
