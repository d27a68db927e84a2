// Activations. Each vjp is a call of the activation's own backward op (activation_backward.cpp), as
// in PyTorch.
#include "base/error.hpp"
#include "ops/pointwise/activation_formulas.hpp"
#include "ops/common/autocast_policy.hpp"
#include "ops/family.hpp"
#include "ops/pointwise/formula_math.hpp"
#include "ops/pointwise/rules.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

inline constexpr Traits self_decides{.promoting = 0b1};

const Formula* gelu_formula(const Call& c) {
  return is_tanh_gelu(c[1]) ? &formula_of<TanhGelu, 1, common> : &formula_of<Gelu, 1, common>;
}

struct Logit {
  template <Floating T> T operator()(T x) const { return log(x / (T(1) - x)); }
};
struct ClampedLogit {
  template <Floating T>
  T operator()(T x, T eps) const {
    const T z = where(x < eps, eps, where(x > T(1) - eps, T(1) - eps, x));
    return log(z / (T(1) - z));
  }
};
inline constexpr Traits float_self_decides{.promotion = Promotion::int_to_float, .promoting = 0b1};

// Reduced floats are computed in float, rounded once.
template <class Body>
TensorList in_float(const Tensor& x, const Body& body) {
  TensorList r = body(is_reduced_floating(x.dtype()) ? x.to(DType::f32) : x);
  for (Tensor& t : r) t = t.to(x.dtype());
  return r;
}
constexpr OpDef log_sigmoid_forward_op() {
  OpDef d{.schema = "aten::log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)", .form = Form::external};
  d.body = [](const Call& c) -> Value {
    return in_float(c.tensor(0).contiguous(), [](const Tensor& x) {
      const Tensor buffer = exp(-abs(x));
      return TensorList{aten<"clamp_max">(x, 0) - log1p(buffer), buffer};
    });
  };
  d.vjp = [](Vjp& v) { v.set(0, aten<"log_sigmoid_backward">(v.grad(), v.saved(0), v.result(1))); };
  d.grad.results = 0b01;
  d.saves = {{0}, {kResult - 1}};
  return d;
}

constexpr OpDef glu_op() {
  OpDef d{.schema = "aten::glu(Tensor self, int dim=-1) -> Tensor", .form = Form::external};
  d.body = [](const Call& c) -> Value {
    const Tensor& x = c.tensor(0);
    INGOT_REQUIRE(x.dim() > 0, "glu does not support 0-dimensional tensors");
    const int dim = wrap_dim(c[1].to_int64(), static_cast<int>(x.dim()));
    INGOT_REQUIRE(mod(x.size(dim), 2) == 0, "Halving dimension must be even, but dimension ", dim, " is size ", x.size(dim));
    const Int half = floor_div(x.size(dim), 2);
    return in_float(x,
                    [&](const Tensor& f) { return TensorList{f.narrow(dim, 0, half) * sigmoid(f.narrow(dim, half, half))}; })[0];
  };
  d.vjp = [](Vjp& v) { v.set(0, aten<"glu_backward">(v.grad(), v.saved(0), v.arg(1))); };
  d.saves = {{0}};
  return d;
}

// One weight, or one for each channel (dim 1).
Value prelu(const Call& c) {
  const Tensor &x = c.tensor(0), &w = c.tensor(1);
  INGOT_REQUIRE(w.dim() <= 1, "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = ", w.dim());
  if (w.dim() == 0 || w.numel() == 1)
    return aten<"_prelu_kernel">(x, aten<"reshape">(w, Shape::filled(static_cast<std::size_t>(x.dim()), 1)));
  INGOT_REQUIRE(x.dim() > 0, "Not allow zero-dim input tensor.");
  const Int channels = x.dim() > 1 ? x.size(1) : Int(1);
  INGOT_REQUIRE(channels == w.numel(),
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = ", w.numel(),
                " and channel size = ", channels, ".");
  Shape shape = Shape::filled(static_cast<std::size_t>(x.dim()), 1);
  shape[x.dim() > 1 ? 1 : 0] = w.numel();
  return aten<"_prelu_kernel">(x, aten<"reshape">(w, shape));
}

constexpr double kSeluAlpha = 1.6732632423543772848170429916717, kSeluScale = 1.0507009873554804934193349852946;

// logit_backward has no derivative of its own: where one may be asked for, the same as a program
// that has.
void logit_vjp(Vjp& v) {
  const Tensor x = v.saved(0);
  if (!thread_state().grad_mode) return v.set(0, aten<"logit_backward">(v.grad(), x, v.arg(1)));
  const double eps = v.arg(1).is_none() ? 0 : v.arg(1).to_double();
  const Tensor inside = aten<"logical_and">(x >= eps, x <= 1 - eps);
  v.set(0, aten<"where.ScalarOther">(inside, v.grad() / (x * (1 - x)), v.arg(1).is_none() ? NAN : 0.0));
}

constexpr OpDef kActivationOps[] = {
    unary(
        "aten::relu(Tensor self) -> Tensor", []<RealNotBool T>(T x) { return max(x, T(0)); },
        [](Vjp& v) { v.set(0, aten<"threshold_backward">(v.grad(), v.result(), 0)); }, {{kResult}}),
    pointwise<2, self_decides>(
        "aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
        []<Floating T>(T x, T slope) { return where(x > T(0), x, x * slope); },
        [](Vjp& v) { v.set(0, aten<"leaky_relu_backward">(v.grad(), v.saved(0), v.arg(1), false)); }, {{0}}),
    pointwise<4, self_decides>(
        "aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
        []<Floating T>(T x, T alpha, T scale, T input_scale) {
          return where(x < T(0), expm1(x * input_scale) * (alpha * scale), x * scale);
        },
        [](Vjp& v) { v.set(0, aten<"elu_backward">(v.grad(), v.arg(1), v.arg(2), v.arg(3), false, v.saved(0))); }, {{0}}),
    pointwise_choice("aten::gelu(Tensor self, *, str approximate=\"none\") -> Tensor", gelu_formula,
                     [](Vjp& v) { v.set(0, aten<"gelu_backward">(v.grad(), v.saved(0), v.arg(1))); }, {{0}}),
    unary<int_to_float>(
        "aten::sigmoid(Tensor self) -> Tensor", []<Inexact T>(T x) { return logistic(x); },
        [](Vjp& v) { v.set(0, aten<"sigmoid_backward">(v.grad(), v.result())); }, {{kResult}}),
    unary(
        "aten::silu(Tensor self) -> Tensor", []<Inexact T>(T x) { return x / (T(1) + exp(-x)); },
        [](Vjp& v) { v.set(0, aten<"silu_backward">(v.grad(), v.saved(0))); }, {{0}}),
    unary(
        "aten::mish(Tensor self) -> Tensor", []<Floating T>(T x) { return x * tanh(log1p_exp(x)); },
        [](Vjp& v) { v.set(0, aten<"mish_backward">(v.grad(), v.saved(0))); }, {{0}}),
    pointwise<3, self_decides>(
        "aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
        []<RealNotBool T>(T x, T lo, T hi) { return min(max(x, lo), hi); },
        [](Vjp& v) { v.set(0, aten<"hardtanh_backward">(v.grad(), v.saved(0), v.arg(1), v.arg(2))); }, {{0}}),
    unary(
        "aten::hardsigmoid(Tensor self) -> Tensor", []<Floating T>(T x) { return min(max(x + T(3), T(0)), T(6)) / T(6); },
        [](Vjp& v) { v.set(0, aten<"hardsigmoid_backward">(v.grad(), v.saved(0))); }, {{0}}),
    unary(
        "aten::hardswish(Tensor self) -> Tensor", []<Floating T>(T x) { return x * min(max(x + T(3), T(0)), T(6)) / T(6); },
        [](Vjp& v) { v.set(0, aten<"hardswish_backward">(v.grad(), v.saved(0))); }, {{0}}),
    pointwise<2, self_decides>(
        "aten::hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
        []<Floating T>(T x, T l) { return where(x >= -l && x <= l, T(0), x); },
        [](Vjp& v) { v.set(0, aten<"hardshrink_backward">(v.grad(), v.saved(0), v.arg(1))); }, {{0}}),
    pointwise<2, self_decides>(
        "aten::softshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
        []<Floating T>(T x, T l) { return where(x > l, x - l, where(x < -l, x + l, x * T(0))); },
        [](Vjp& v) { v.set(0, aten<"softshrink_backward">(v.grad(), v.saved(0), v.arg(1))); }, {{0}}),
    pointwise<3, self_decides>(
        "aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
        []<Floating T>(T x, T beta, T threshold) { return where(x * beta > threshold, x, log1p(exp(x * beta)) / beta); },
        [](Vjp& v) { v.set(0, aten<"softplus_backward">(v.grad(), v.saved(0), v.arg(1), v.arg(2))); }, {{0}}),
    pointwise<3, self_decides>(
        "aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
        []<RealNotBool T>(T x, T threshold, T value) { return where(x <= threshold, value, x); },
        [](Vjp& v) { v.set(0, aten<"threshold_backward">(v.grad(), v.saved(0), v.arg(1))); }, {{0}}),
    binary(
        "aten::_prelu_kernel(Tensor self, Tensor weight) -> Tensor",
        []<Floating T>(T x, T w) { return where(x > T(0), x, w * x); },
        [](Vjp& v) {
          const TensorList g = atens<"_prelu_kernel_backward">(v.grad(), v.saved(0), v.saved(1));
          if (v.need(0)) v.set(0, g[0]);
          if (v.need(1)) v.set(1, g[1]);
        },
        {{0}, {1}}),
    pointwise_choice("aten::logit(Tensor self, float? eps=None) -> Tensor",
                     [](const Call& c) {
                       return c[1].is_none() ? &formula_of<Logit, 1, int_to_float>
                                             : &formula_of<ClampedLogit, 2, float_self_decides>;
                     },
                     logit_vjp, {{0}}),
    log_sigmoid_forward_op(),
    glu_op(),

    composite("aten::log_sigmoid(Tensor self) -> Tensor",
              [](const Call& c) -> Value { return atens<"log_sigmoid_forward">(c[0])[0]; }),
    in_lower_precision(composite("aten::prelu(Tensor self, Tensor weight) -> Tensor", prelu)),
    composite("aten::relu6(Tensor self) -> Tensor", [](const Call& c) -> Value { return aten<"hardtanh">(c[0], 0, 6); }),
    composite("aten::selu(Tensor self) -> Tensor",
              [](const Call& c) -> Value { return aten<"elu">(c[0], kSeluAlpha, kSeluScale); }),
    composite("aten::celu(Tensor self, Scalar alpha=1.) -> Tensor",
              [](const Call& c) -> Value {
                const double alpha = c[1].to_double();
                INGOT_REQUIRE(alpha != 0, "ZeroDivisionError: alpha cannot be 0 for CELU");
                return aten<"elu">(c[0], alpha, 1.0, 1 / alpha);
              }),
};

}  // namespace

INGOT_FAMILY(activation, kActivationOps)

}  // namespace ingot
