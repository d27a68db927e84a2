// Special functions: error functions, gamma functions, Bessel functions, orthogonal polynomials.
// What an expression has no operation for is computed by src/kernels/special.hpp and has no
// compiled formula.
#include "base/error.hpp"
#include "kernels/polynomials.hpp"
#include "kernels/special.hpp"
#include "ops/family.hpp"
#include "ops/pointwise/formula_math.hpp"
#include "ops/pointwise/rules.hpp"

namespace ingot {
namespace {

// A function of kernels/special.hpp as a formula.
template <double (*F)(double)>
struct Of {
  template <std::floating_point T> T operator()(T x) const { return static_cast<T>(F(x)); }
};
template <double (*F)(double, double)>
struct Of2 {
  template <std::floating_point T> T operator()(T x, T y) const { return static_cast<T>(F(x, y)); }
};
template <double (*F)(double)>
constexpr OpDef special(std::string_view schema, VjpRule vjp = nullptr, Saves saves = {}) {
  OpDef d = unary<int_to_float>(schema, Of<F>{}, vjp, saves);
  d.grad.none = !vjp;  // Bessel and Airy functions: PyTorch's results do not require grad
  return d;
}
template <double (*F)(double, double)>
constexpr OpDef special2(std::string_view schema, VjpRule vjp = nullptr, Saves saves = {}, uint8_t backward_index = 0) {
  OpDef d = indexed(binary<int_to_float>(schema, Of2<F>{}, vjp, saves), backward_index);
  d.grad.none = !vjp;
  return d;
}

struct LogGamma {
  template <std::floating_point T> T operator()(T x) const { return static_cast<T>(kernels::log_gamma(x)); }
  Expr operator()(const Expr& x) const { return lgamma(x); }
};
struct Digamma {
  template <std::floating_point T> T operator()(T x) const { return static_cast<T>(kernels::digamma(x)); }
  Expr operator()(const Expr& x) const { return digamma(x); }
};

void erf_vjp(Vjp& v) { v.set(0, exp(-square(v.saved(0))) * M_2_SQRTPI * v.grad()); }
void erfc_vjp(Vjp& v) { v.set(0, exp(-square(v.saved(0))) * -M_2_SQRTPI * v.grad()); }

// I1(x)/x -> 1/2 at zero, where the quotient is 0/0.
void i1_vjp(Vjp& v, const Tensor& derivative_away_from_zero) {
  const double eps = v.grad().dtype() == DType::f64 ? 0x1p-52 : 0x1p-23;
  v.set(0, v.grad() * aten<"where.ScalarOther">(abs(v.saved(0)) > eps, derivative_away_from_zero, 0.5));
}

// The density under the lower incomplete gamma function.
Tensor gamma_density(const Vjp& v) {
  const Tensor a = v.saved(0), x = v.saved(1);
  return v.grad() * exp((a - 1) * log(x) - x - aten<"lgamma">(a));
}
void igamma_vjp(Vjp& v) {
  not_implemented_for(v, 0, "igamma: input");
  v.set(1, gamma_density(v));
}
void igammac_vjp(Vjp& v) {
  not_implemented_for(v, 0, "igammac: input");
  v.set(1, -gamma_density(v));
}
void zeta_vjp(Vjp& v) {
  not_implemented_for(v, 0, "zeta");
  const Value &s = v.arg(0), &q = v.arg(1);
  v.set(1, v.grad() * -aten<"mul.Tensor">(
                          aten<"special_zeta">(aten<"add.Tensor">(s.is_tensor() ? s : scalar_tensor(s.to_scalar()), 1), q), s));
}

// x - 1/2 k for k < p, along a new last dim.
Tensor multigamma_arguments(const Tensor& x, int64_t p) {
  const double half = static_cast<double>(p) / 2;
  const Tensor shifts = aten<"arange.start_step">(0.5 - half, 0.5, 0.5, x.dtype(), Value(), x.device());
  return x.unsqueeze(-1) + shifts;
}
Value mvlgamma_body(const Call& c) {
  const Tensor& x = c.tensor(0);
  const int64_t p = c[1].to_int64();
  INGOT_REQUIRE(p >= 1, "p has to be greater than or equal to 1");
  const Tensor f = is_floating(x.dtype()) ? x : x.to(thread_state().default_dtype);
  const double constant = static_cast<double>(p * (p - 1)) * std::log(M_PI) / 4;
  return aten<"sum.dim_IntList">(aten<"lgamma">(multigamma_arguments(f, p)), Shape{-1}) + constant;
}
constexpr OpDef mvlgamma_op() {
  OpDef d{.schema = "aten::mvlgamma(Tensor self, int p) -> Tensor", .form = Form::external};
  d.body = mvlgamma_body;
  d.vjp = [](Vjp& v) {
    const Tensor psi = aten<"digamma">(multigamma_arguments(v.saved(0), v.arg(1).to_int64()));
    v.set(0, v.grad() * aten<"sum.dim_IntList">(psi, Shape{-1}));
  };
  d.saves = {{0}};
  return d;
}
struct Polygamma {
  template <std::floating_point T>
  T operator()(T n, T x) const {
    return kernels::polygamma(static_cast<int64_t>(n), x);
  }
};
constexpr OpDef polygamma_op() {
  constexpr Traits self_decides{.promotion = Promotion::int_to_float, .promoting = 0b10};
  OpDef d = pointwise<2, self_decides>("aten::polygamma(int n, Tensor self) -> Tensor", Polygamma{});
  d.meta = [](const Call& c, Outputs& out) {
    INGOT_REQUIRE(c[0].to_int64() >= 0, "polygamma(n, x) does not support negative n.");
    pointwise_meta(c, out);
  };
  d.vjp = [](Vjp& v) { v.set(1, v.grad() * aten<"polygamma">(v.arg(0).to_int() + 1, v.saved(1))); };
  d.saves = {{1}};
  return d;
}

// A function template of kernels/polynomials.hpp, with numbers on either side.
#define POLYNOMIAL(name, f)                                                                                                      \
  no_gradient(binary<int_to_float>("aten::special_" name "(Tensor x, Tensor n) -> Tensor", POLYNOMIAL_FORMULA(f))),              \
      no_gradient(binary<int_to_float>("aten::special_" name ".n_scalar(Tensor x, Scalar n) -> Tensor", POLYNOMIAL_FORMULA(f))), \
      no_gradient(binary<int_to_float>("aten::special_" name ".x_scalar(Scalar x, Tensor n) -> Tensor", POLYNOMIAL_FORMULA(f)))
#define POLYNOMIAL_FORMULA(f) []<std::floating_point T>(T x, T n) { return kernels::f(x, n); }

constexpr OpDef kSpecialMathOps[] = {
    unary<int_to_float>("aten::erf(Tensor self) -> Tensor", []<Floating T>(T x) { return erf(x); }, erf_vjp, {{0}}),
    unary<int_to_float>("aten::erfc(Tensor self) -> Tensor", []<Floating T>(T x) { return erfc(x); }, erfc_vjp, {{0}}),
    special<kernels::erfinv>("aten::erfinv(Tensor self) -> Tensor",
                             [](Vjp& v) { v.set(0, exp(square(v.result())) * (1 / M_2_SQRTPI) * v.grad()); }, {{kResult}}),
    special<kernels::erfcx>("aten::special_erfcx(Tensor self) -> Tensor",
                            [](Vjp& v) { v.set(0, (v.saved(0) * v.result() * 2 - M_2_SQRTPI) * v.grad()); }, {{0}, {kResult}}),
    special<kernels::ndtri>("aten::special_ndtri(Tensor self) -> Tensor",
                            [](Vjp& v) { v.set(0, v.grad() * std::sqrt(2 * M_PI) * exp(square(v.result()) / 2)); }, {{kResult}}),
    special<kernels::log_ndtr>(
        "aten::special_log_ndtr(Tensor self) -> Tensor",
        [](Vjp& v) { v.set(0, v.grad() / aten<"special_erfcx">(v.saved(0) * -M_SQRT1_2) * std::sqrt(2 / M_PI)); }, {{0}}),
    unary<int_to_float>(
        "aten::special_entr(Tensor self) -> Tensor",
        []<Floating T>(T x) {
          return where(x != x, x, where(x > T(0), -x * log(x), where(x == T(0), constant_like(x, 0), T(-INFINITY))));
        },
        [](Vjp& v) { v.set(0, v.grad() * (-1 - log(v.saved(0)))); }, {{0}}),

    unary<int_to_float>("aten::lgamma(Tensor self) -> Tensor", LogGamma{},
                        [](Vjp& v) { v.set(0, v.grad() * aten<"digamma">(v.saved(0))); }, {{0}}),
    unary<int_to_float>("aten::digamma(Tensor self) -> Tensor", Digamma{},
                        [](Vjp& v) { v.set(0, v.grad() * aten<"polygamma">(1, v.saved(0))); }, {{0}}),
    polygamma_op(),
    mvlgamma_op(),
    binary("aten::igamma(Tensor self, Tensor other) -> Tensor", Of2<kernels::igamma>{}, igamma_vjp, {{0}, {1}}),
    binary("aten::igammac(Tensor self, Tensor other) -> Tensor", Of2<kernels::igammac>{}, igammac_vjp, {{0}, {1}}),
    special2<kernels::zeta>("aten::special_zeta(Tensor self, Tensor other) -> Tensor", zeta_vjp, {{0}, {1}}),
    special2<kernels::zeta>("aten::special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor", zeta_vjp, {{1}}, 1),
    special2<kernels::zeta>("aten::special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor", zeta_vjp, {{0}}, 2),

    special<kernels::bessel_i0>("aten::i0(Tensor self) -> Tensor",
                                [](Vjp& v) { v.set(0, v.grad() * aten<"special_i1">(v.saved(0))); }, {{0}}),
    special<kernels::bessel_i0e>("aten::special_i0e(Tensor self) -> Tensor",
                                 [](Vjp& v) {
                                   const Tensor x = v.saved(0);
                                   v.set(0, v.grad() * (aten<"special_i1e">(x) - aten<"sgn">(x) * v.result()));
                                 },
                                 {{0}, {kResult}}),
    special<kernels::bessel_i1>("aten::special_i1(Tensor self) -> Tensor",
                                [](Vjp& v) {
                                  const Tensor x = v.saved(0);
                                  i1_vjp(v, aten<"i0">(x) - v.result() * reciprocal(x));
                                },
                                {{0}, {kResult}}),
    special<kernels::bessel_i1e>("aten::special_i1e(Tensor self) -> Tensor",
                                 [](Vjp& v) {
                                   const Tensor x = v.saved(0);
                                   i1_vjp(v, aten<"special_i0e">(x) - v.result() * (aten<"sgn">(x) + reciprocal(x)));
                                 },
                                 {{0}, {kResult}}),
    special<kernels::bessel_i0>("aten::special_modified_bessel_i0(Tensor self) -> Tensor"),
    special<kernels::bessel_i1>("aten::special_modified_bessel_i1(Tensor self) -> Tensor"),
    special<kernels::bessel_k0>("aten::special_modified_bessel_k0(Tensor self) -> Tensor"),
    special<kernels::bessel_k1>("aten::special_modified_bessel_k1(Tensor self) -> Tensor"),
    special<kernels::bessel_k0e>("aten::special_scaled_modified_bessel_k0(Tensor x) -> Tensor"),
    special<kernels::bessel_k1e>("aten::special_scaled_modified_bessel_k1(Tensor x) -> Tensor"),
    special<::j0>("aten::special_bessel_j0(Tensor self) -> Tensor"),
    special<::j1>("aten::special_bessel_j1(Tensor self) -> Tensor"),
    special<::y0>("aten::special_bessel_y0(Tensor self) -> Tensor"),
    special<::y1>("aten::special_bessel_y1(Tensor self) -> Tensor"),
    special<kernels::spherical_bessel_j0>("aten::special_spherical_bessel_j0(Tensor x) -> Tensor"),
    special<kernels::airy_ai>("aten::special_airy_ai(Tensor x) -> Tensor"),

    POLYNOMIAL("chebyshev_polynomial_t", chebyshev_t),
    POLYNOMIAL("chebyshev_polynomial_u", chebyshev_u),
    POLYNOMIAL("chebyshev_polynomial_v", chebyshev_v),
    POLYNOMIAL("chebyshev_polynomial_w", chebyshev_w),
    POLYNOMIAL("shifted_chebyshev_polynomial_t", shifted_chebyshev_t),
    POLYNOMIAL("shifted_chebyshev_polynomial_u", shifted_chebyshev_u),
    POLYNOMIAL("shifted_chebyshev_polynomial_v", shifted_chebyshev_v),
    POLYNOMIAL("shifted_chebyshev_polynomial_w", shifted_chebyshev_w),
    POLYNOMIAL("hermite_polynomial_h", hermite_h),
    POLYNOMIAL("hermite_polynomial_he", hermite_he),
    POLYNOMIAL("laguerre_polynomial_l", laguerre_l),
    POLYNOMIAL("legendre_polynomial_p", legendre_p),

    composite("aten::special_ndtr(Tensor self) -> Tensor",
              [](const Call& c) -> Value { return (erf(c.tensor(0) * M_SQRT1_2) + 1) * 0.5; }),
    alias_of<"erf">("aten::special_erf(Tensor self) -> Tensor"),
    alias_of<"erfc">("aten::special_erfc(Tensor self) -> Tensor"),
    alias_of<"erfinv">("aten::special_erfinv(Tensor self) -> Tensor"),
    alias_of<"sigmoid">("aten::special_expit(Tensor self) -> Tensor"),
    alias_of<"logit">("aten::special_logit(Tensor self, float? eps=None) -> Tensor"),
    alias_of<"lgamma">("aten::special_gammaln(Tensor self) -> Tensor"),
    alias_of<"digamma">("aten::special_digamma(Tensor self) -> Tensor"),
    alias_of<"digamma">("aten::special_psi(Tensor self) -> Tensor"),
    alias_of<"polygamma">("aten::special_polygamma(int n, Tensor self) -> Tensor"),
    alias_of<"mvlgamma">("aten::special_multigammaln(Tensor self, int p) -> Tensor"),
    alias_of<"igamma">("aten::special_gammainc(Tensor self, Tensor other) -> Tensor"),
    alias_of<"igammac">("aten::special_gammaincc(Tensor self, Tensor other) -> Tensor"),
    alias_of<"i0">("aten::special_i0(Tensor self) -> Tensor"),
};

}  // namespace

INGOT_FAMILY(special_math, kSpecialMathOps)

}  // namespace ingot
