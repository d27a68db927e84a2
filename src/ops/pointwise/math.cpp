// Elementary functions: exponentials, logarithms, trigonometric and hyperbolic functions, roots,
// rounding.
#include "base/error.hpp"
#include "ops/family.hpp"
#include "ops/pointwise/formula_math.hpp"
#include "ops/pointwise/rules.hpp"
#include "tensor/rows.hpp"

namespace ingot {
namespace {

template <class F>
constexpr OpDef function(std::string_view schema, F f, VjpRule vjp, Saves saves = {}) {
  return unary<int_to_float>(schema, f, vjp, saves);
}

// A half type's root is one before it is inverted.
template <DType Small>
struct InverseRoot {
  template <Inexact T> T operator()(T x) const {
    if constexpr (Small == DType::f32) return rsqrt(x);
    else return T(1) / as_small<Small>(sqrt(x));
  }
};

// The rounding functions leave integers as they are.
#define ROUNDING(Name, f)                               \
  struct Name {                                         \
    template <RealNotBool T>                            \
    T operator()(T x) const {                           \
      if constexpr (std::same_as<T, int64_t>) return x; \
      else return f(x);                                 \
    }                                                   \
  }
ROUNDING(Floor, floor);
ROUNDING(Ceil, ceil);
ROUNDING(Trunc, trunc);
ROUNDING(Round, round);
#undef ROUNDING

struct RoundDecimals {
  template <RealNotBool T>
  T operator()(T x, T decimals) const {
    if constexpr (std::same_as<T, int64_t>) {
      return x;
    } else {
      if constexpr (std::same_as<T, Expr>)
        if (is_integer_value(x)) return x;
      const T scale = pow(T(10), abs(decimals));
      return where(decimals < T(0), round(x / scale) * scale, round(x * scale) / scale);
    }
  }
};
inline constexpr Traits self_decides{.promoting = 0b01};

void sinc_vjp(Vjp& v) {
  const Tensor x = v.saved(0), px = x * M_PI, pxx = x * x * M_PI;
  v.set(0, drop(pxx == 0, v.grad() * conjugate((px * cos(px) - sin(px)) / pxx)));
}

// Mantissa in [0.5, 1) and exponent.
void frexp_meta(const Call& c, Outputs& out) {
  INGOT_REQUIRE(is_floating(c.tensor(0).dtype()), "torch.frexp() only supports floating-point dtypes");
  pointwise_meta(c, out);
  Geometry exponent = out.geoms[0];
  exponent.dtype = DType::i32;
  out.add(std::move(exponent));
}
void frexp_kernel(const Call& c, std::span<const Tensor> r) {
  const std::vector<int64_t> sizes = r[0].sizes().values();
  const DType t = c.tensor(0).dtype();
  walk_rows(sizes, {walked(r[0], sizes), walked(r[1], sizes), walked(c.tensor(0), sizes)}, true,
            [&](char* const* p, const int64_t* stride, int64_t n) {
              for (int64_t i = 0; i < n; i++) {
                double x;
                int exponent;
                load_row(t, p[2] + i * stride[2] * size_of(t), 1, 1, Compute::f64, &x);
                x = std::frexp(x, &exponent);
                store_row(Compute::f64, &x, 1, t, p[0] + i * stride[0] * size_of(t), 1);
                reinterpret_cast<int32_t*>(p[1])[i * stride[1]] = std::isfinite(x) ? exponent : 0;
              }
            });
}
constexpr OpDef frexp_op() {
  OpDef d = unary("aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)",
                  []<std::floating_point T>(T x) { return x; });
  d.meta = frexp_meta;
  d.kernel = frexp_kernel;
  d.form = Form::external;
  d.vjp = [](Vjp& v) { v.set(0, aten<"div.Tensor">(v.grad(), aten<"pow.Scalar">(2.0, v.result(1)))); };
  d.saves = {{kResult - 1}};
  return d;
}

// PyTorch refuses the gradient of asinh_, acosh_ and atanh_.
constexpr OpDef not_in_place(OpDef d) {
  d.grad.variants = GradVariants::functional;
  return d;
}

constexpr OpDef kMathOps[] = {
    function(
        "aten::exp(Tensor self) -> Tensor", []<Inexact T>(T x) { return exp(x); },
        [](Vjp& v) { v.set(0, v.grad() * conjugate(v.result())); }, {{kResult}}),
    function(
        "aten::exp2(Tensor self) -> Tensor",
        []<Inexact T>(T x) {
          if constexpr (Complex<T>) return exp(x * M_LN2);
          else return exp2(x);
        },
        [](Vjp& v) { v.set(0, v.grad() * conjugate(v.result()) * M_LN2); }, {{kResult}}),
    function(
        "aten::expm1(Tensor self) -> Tensor",
        []<Inexact T>(T x) {
          if constexpr (Complex<T>) {
            const double s = std::sin(x.imag() / 2);
            return T(std::expm1(x.real()) * std::cos(x.imag()) - 2 * s * s, std::exp(x.real()) * std::sin(x.imag()));
          } else {
            return expm1(x);
          }
        },
        [](Vjp& v) { v.set(0, v.grad() * (conjugate(v.result()) + 1)); }, {{kResult}}),
    function(
        "aten::log(Tensor self) -> Tensor", []<Inexact T>(T x) { return log(x); },
        [](Vjp& v) { v.set(0, v.grad() / conjugate(v.saved(0))); }, {{0}}),
    function(
        "aten::log2(Tensor self) -> Tensor",
        []<Inexact T>(T x) {
          if constexpr (Complex<T>) return log(x) / M_LN2;
          else return log2(x);
        },
        [](Vjp& v) { v.set(0, v.grad() / (conjugate(v.saved(0)) * M_LN2)); }, {{0}}),
    function(
        "aten::log10(Tensor self) -> Tensor", []<Inexact T>(T x) { return log10(x); },
        [](Vjp& v) { v.set(0, v.grad() / (conjugate(v.saved(0)) * M_LN10)); }, {{0}}),
    function(
        "aten::log1p(Tensor self) -> Tensor",
        []<Inexact T>(T x) {
               // log|1 + z| without losing small z: |1 + z|² - 1 = x (2 + x) + y²
          if constexpr (Complex<T>)
            return std::abs(x) < 0.5 ? T(std::log1p(x.real() * (2 + x.real()) + x.imag() * x.imag()) / 2, std::arg(1.0 + x))
                                     : std::log(1.0 + x);
          else return log1p(x);
        },
        [](Vjp& v) { v.set(0, v.grad() / conjugate(v.saved(0) + 1)); }, {{0}}),
    function(
        "aten::sqrt(Tensor self) -> Tensor", []<Inexact T>(T x) { return sqrt(x); },
        [](Vjp& v) { v.set(0, v.grad() / (conjugate(v.result()) * 2)); }, {{kResult}}),
    pointwise_choice("aten::rsqrt(Tensor self) -> Tensor", formula_by_size<InverseRoot, 1, int_to_float>,
                     [](Vjp& v) { v.set(0, v.grad() * -0.5 * conjugate(aten<"pow.Tensor_Scalar">(v.result(), 3))); },
                     {{kResult}}),

    function(
        "aten::sin(Tensor self) -> Tensor", []<Inexact T>(T x) { return sin(x); },
        [](Vjp& v) { v.set(0, v.grad() * conjugate(cos(v.saved(0)))); }, {{0}}),
    function(
        "aten::cos(Tensor self) -> Tensor", []<Inexact T>(T x) { return cos(x); },
        [](Vjp& v) { v.set(0, v.grad() * -conjugate(sin(v.saved(0)))); }, {{0}}),
    function(
        "aten::tan(Tensor self) -> Tensor", []<Inexact T>(T x) { return tan(x); },
        [](Vjp& v) { v.set(0, v.grad() * conjugate(square(v.result()) + 1)); }, {{kResult}}),
    function(
        "aten::asin(Tensor self) -> Tensor", []<Inexact T>(T x) { return asin(x); },
        [](Vjp& v) { v.set(0, v.grad() * conjugate(rsqrt(-v.saved(0) * v.saved(0) + 1))); }, {{0}}),
    function(
        "aten::acos(Tensor self) -> Tensor", []<Inexact T>(T x) { return acos(x); },
        [](Vjp& v) { v.set(0, v.grad() * -conjugate(rsqrt(-v.saved(0) * v.saved(0) + 1))); }, {{0}}),
    function(
        "aten::atan(Tensor self) -> Tensor", []<Inexact T>(T x) { return atan(x); },
        [](Vjp& v) { v.set(0, v.grad() / conjugate(v.saved(0) * v.saved(0) + 1)); }, {{0}}),
    binary<int_to_float>(
        "aten::atan2(Tensor self, Tensor other) -> Tensor", []<Floating T>(T y, T x) { return atan2(y, x); },
        [](Vjp& v) {
          const Tensor y = v.saved(0), x = v.saved(1), r = 1 / (y * y + x * x);
          if (v.need(0)) v.set(0, v.grad() * x * r);
          if (v.need(1)) v.set(1, v.grad() * -y * r);
        },
        {{0}, {1}}),
    function(
        "aten::sinh(Tensor self) -> Tensor", []<Inexact T>(T x) { return sinh(x); },
        [](Vjp& v) { v.set(0, v.grad() * conjugate(aten<"cosh">(v.saved(0)))); }, {{0}}),
    function(
        "aten::cosh(Tensor self) -> Tensor", []<Inexact T>(T x) { return cosh(x); },
        [](Vjp& v) { v.set(0, v.grad() * conjugate(aten<"sinh">(v.saved(0)))); }, {{0}}),
    function(
        "aten::tanh(Tensor self) -> Tensor", []<Inexact T>(T x) { return tanh(x); },
        [](Vjp& v) { v.set(0, aten<"tanh_backward">(v.grad(), v.result())); }, {{kResult}}),
    not_in_place(function(
        "aten::asinh(Tensor self) -> Tensor", []<Inexact T>(T x) { return asinh(x); },
        [](Vjp& v) { v.set(0, v.grad() * conjugate(rsqrt(square(v.saved(0)) + 1))); }, {{0}})),
    not_in_place(function(
        "aten::acosh(Tensor self) -> Tensor", []<Inexact T>(T x) { return acosh(x); },
        [](Vjp& v) {
          const Tensor x = v.saved(0);
                            // sqrt(x² - 1) is on the wrong branch for complex x in the left half
                            // plane.
          v.set(0, v.grad() * conjugate(x.is_complex() ? rsqrt(x - 1) * rsqrt(x + 1) : rsqrt(square(x) - 1)));
        },
        {{0}})),
    not_in_place(function(
        "aten::atanh(Tensor self) -> Tensor", []<Inexact T>(T x) { return atanh(x); },
        [](Vjp& v) { v.set(0, v.grad() / conjugate(1 - square(v.saved(0)))); }, {{0}})),
    function("aten::sinc(Tensor self) -> Tensor",
             []<Inexact T>(T x) {
               const T p = x * T(M_PI);
               return where(x == T(0), T(1), sin(p) / p);
             },
             sinc_vjp, {{0}}),
    function(
        "aten::deg2rad(Tensor self) -> Tensor", []<Floating T>(T x) { return x * T(M_PI / 180); },
        [](Vjp& v) { v.set(0, aten<"deg2rad">(v.grad())); }),
    function(
        "aten::rad2deg(Tensor self) -> Tensor", []<Floating T>(T x) { return x * T(180 / M_PI); },
        [](Vjp& v) { v.set(0, aten<"rad2deg">(v.grad())); }),

    unary("aten::floor(Tensor self) -> Tensor", Floor{}, zero_gradients),
    unary("aten::ceil(Tensor self) -> Tensor", Ceil{}, zero_gradients),
    unary("aten::trunc(Tensor self) -> Tensor", Trunc{}, zero_gradients),
    unary("aten::round(Tensor self) -> Tensor", Round{}, zero_gradients),
    indexed(pointwise_choice(
                "aten::round.decimals(Tensor self, *, int decimals) -> Tensor",
                [](const Call& c) {
                  const bool whole = c[1].to_int().same(0);
                  return whole ? &formula_of<Round, 1, common> : &formula_of<RoundDecimals, 2, self_decides>;
                },
                zero_gradients),
            1),
    unary(
        "aten::frac(Tensor self) -> Tensor", []<Floating T>(T x) { return x - trunc(x); }, same_gradient),
    frexp_op(),

    alias_of<"trunc">("aten::fix(Tensor self) -> Tensor"),
    alias_of<"asin">("aten::arcsin(Tensor self) -> Tensor"),
    alias_of<"acos">("aten::arccos(Tensor self) -> Tensor"),
    alias_of<"atan">("aten::arctan(Tensor self) -> Tensor"),
    alias_of<"atan2">("aten::arctan2(Tensor self, Tensor other) -> Tensor"),
    alias_of<"asinh">("aten::arcsinh(Tensor self) -> Tensor"),
    alias_of<"acosh">("aten::arccosh(Tensor self) -> Tensor"),
    alias_of<"atanh">("aten::arctanh(Tensor self) -> Tensor"),
    alias_of<"exp2">("aten::special_exp2(Tensor self) -> Tensor"),
    alias_of<"expm1">("aten::special_expm1(Tensor self) -> Tensor"),
    alias_of<"log1p">("aten::special_log1p(Tensor self) -> Tensor"),
    alias_of<"sinc">("aten::special_sinc(Tensor self) -> Tensor"),
    alias_of<"round.decimals">("aten::special_round(Tensor self, *, int decimals=0) -> Tensor"),
};

}  // namespace

INGOT_FAMILY(math, kMathOps)

}  // namespace ingot
