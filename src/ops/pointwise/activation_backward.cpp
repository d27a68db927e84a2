// The backward ops of activations. They are linear in the gradient, so the vjp for it is the op
// itself; the vjp for the activation's input is written with its second derivative.
#include "ops/pointwise/activation_formulas.hpp"
#include "ops/family.hpp"
#include "ops/pointwise/formula_math.hpp"
#include "ops/pointwise/rules.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

inline constexpr Traits tensors_decide{.promoting = 0b11};

// f(grad_output, self, numbers…): the vjp of one that is piecewise linear in self.
void piecewise_linear_vjp(Vjp& v) {
  if (v.need(0)) {
    Values args = v.args;
    args[0] = v.grad();
    v.set(0, call(*v.op, args).tensor());
  }
  if (v.need(1)) v.set(1, aten<"zeros_like">(v.grad()));
}

void gelu_backward_vjp(Vjp& v) {
  const Tensor x = v.saved(1);
  if (v.need(0)) v.set(0, aten<"gelu_backward">(v.grad(), x, v.arg(2)));
  if (!v.need(1)) return;
  const Tensor gg = v.grad() * v.saved(0);
  if (!is_tanh_gelu(v.arg(2))) {
    const Tensor pdf = exp(x * x * -0.5) * (M_2_SQRTPI * M_SQRT1_2 * 0.5);
    return v.set(1, gg * pdf * (2 - x * x));
  }
  const Tensor t = tanh((x + x * x * x * kGeluCubic) * kSqrt2OverPi);
  const Tensor slope = (x * x * (3 * kGeluCubic) + 1) * kSqrt2OverPi, half_bend = x * x * (3 * kGeluCubic * kSqrt2OverPi);
  v.set(1, gg * (1 - t * t) * (slope + half_bend - x * t * slope * slope));
}
void sigmoid_backward_vjp(Vjp& v) {
  const Tensor y = conjugate(v.saved(1));
  if (v.need(0)) v.set(0, aten<"sigmoid_backward">(v.grad(), y));
  if (v.need(1)) v.set(1, conjugate(v.grad()) * v.saved(0) * (1 - y * 2));
}
void tanh_backward_vjp(Vjp& v) {
  const Tensor y = conjugate(v.saved(1));
  if (v.need(0)) v.set(0, aten<"tanh_backward">(v.grad(), y));
  if (v.need(1)) v.set(1, conjugate(v.grad()) * v.saved(0) * y * -2);
}
void silu_backward_vjp(Vjp& v) {
  const Tensor x = conjugate(v.saved(1));
  if (v.need(0)) v.set(0, aten<"silu_backward">(v.grad(), x));
  if (!v.need(1)) return;
  const Tensor s = sigmoid(x);
  v.set(1, conjugate(v.grad()) * v.saved(0) * s * (1 - s) * (2 + x * (1 - s * 2)));
}
void mish_backward_vjp(Vjp& v) {
  const Tensor x = v.saved(1);
  if (v.need(0)) v.set(0, aten<"mish_backward">(v.grad(), x));
  if (!v.need(1)) return;
  const Tensor s = sigmoid(x), t = tanh(softplus(x));
  v.set(1, v.grad() * v.saved(0) * (1 - t * t) * s * (2 + x * (1 - s) - x * t * s * 2));
}
void elu_backward_vjp(Vjp& v) {
  const Value &alpha = v.arg(1), &scale = v.arg(2), &input_scale = v.arg(3);
  const bool is_result = v.arg(4).to_bool();
  const Tensor x = v.saved(5);
  if (v.need(0)) v.set(0, aten<"elu_backward">(v.grad(), alpha, scale, input_scale, is_result, x));
  if (!v.need(5)) return;
  Tensor g = v.grad() * v.saved(0) * input_scale.to_double();
  if (!is_result) g = g * (input_scale.to_double() * alpha.to_double() * scale.to_double()) * exp(x * input_scale.to_double());
  v.set(5, keep(x < 0, g));
}
void hardswish_backward_vjp(Vjp& v) {
  const Tensor x = v.saved(1);
  if (v.need(0)) v.set(0, aten<"hardswish_backward">(v.grad(), x));
  if (v.need(1)) v.set(1, keep(aten<"logical_and">(x > -3, x < 3), v.grad() * v.saved(0) / 3));
}
void softplus_backward_vjp(Vjp& v) {
  const Tensor x = v.saved(1);
  if (v.need(0)) v.set(0, aten<"softplus_backward">(v.grad(), x, v.arg(2), v.arg(3)));
  if (!v.need(1)) return;
  const double beta = v.arg(2).to_double();
  const Tensor z = x * beta;
  v.set(1, keep(z < v.arg(3).to_scalar(), aten<"sigmoid_backward">(v.grad() * v.saved(0), sigmoid(z)) * beta));
}
void log_sigmoid_backward_vjp(Vjp& v) {
  const Tensor x = v.saved(1);
  if (v.need(0)) v.set(0, aten<"log_sigmoid_backward">(v.grad(), x, v.saved(2)));
  if (!v.need(1)) return;
  const Tensor s = sigmoid(x);
  v.set(1, v.grad() * v.saved(0) * (s - 1) * s);
}

constexpr OpDef log_sigmoid_backward_op() {
  OpDef d = pointwise<3>("aten::log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor",
                         []<Floating T>(T g, T x, T buffer) {
                           const T r = buffer / (T(1) + buffer);
                           return g * where(x < T(0), T(1) - r, r);
                         },
                         log_sigmoid_backward_vjp, {{0, 1}, {1}, {2, 0}});
  d.grad.refuses = 0b100;
  return d;
}

struct LogitBackward {
  template <Floating T>
  T operator()(T g, T x) const {
    return where(x < T(0) || x > T(1), T(NAN), g / (x * (T(1) - x)));
  }
};
struct ClampedLogitBackward {
  template <Floating T>
  T operator()(T g, T x, T eps) const {
    return where(x < eps || x > T(1) - eps, T(0), g / (x * (T(1) - x)));
  }
};

struct LeakyBackward {
  template <Floating T> T operator()(T g, T x, T slope) const { return where(x > T(0), g, g * slope); }
};
struct EluBackward {
  template <Floating T>
  T operator()(T g, T alpha, T scale, T input_scale, T x) const {
    return where(x <= T(0), g * input_scale * (alpha * scale) * exp(x * input_scale), g * scale);
  }
};
struct EluBackwardOfResult {
  template <Floating T>
  T operator()(T g, T alpha, T scale, T input_scale, T y) const {
    return where(y <= T(0), g * input_scale * (y + alpha * scale), g * scale);
  }
};
inline constexpr Traits first_and_last{.promoting = 0b10001};

// Both halves of glu's input.
struct Halves {
  Tensor a, b;
  Halves(const Tensor& x, int64_t dim) {
    const Int half = floor_div(x.size(dim), 2);
    a = x.narrow(dim, 0, half);
    b = x.narrow(dim, half, half);
  }
};
constexpr OpDef glu_backward_op() {
  OpDef d{.schema = "aten::glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor", .form = Form::external};
  d.body = [](const Call& c) -> Value {
    const Tensor &g = c.tensor(0), &x = c.tensor(1);
    const int64_t dim = c[2].to_int64();
    const Halves h(x, dim);
    const Tensor s = sigmoid(h.b), gs = g * s;
    return aten<"cat">(TensorList{gs, gs * (1 - s) * h.a}, dim);
  };
  d.vjp = [](Vjp& v) {
    const Tensor g = v.saved(0);
    const int64_t dim = v.arg(2).to_int64();
    const Halves x(v.saved(1), dim), gg(v.grad(), dim);
    const Tensor s = sigmoid(x.b), ds = s * (1 - s);
    if (v.need(0)) v.set(0, gg.a * s + gg.b * x.a * ds);
    if (v.need(1)) v.set(1, aten<"cat">(TensorList{gg.b * g * ds, g * ds * (gg.a + gg.b * x.a * (1 - s * 2))}, dim));
  };
  d.saves = {{0}, {1}};
  return d;
}
constexpr OpDef prelu_backward_op() {
  OpDef d{.schema = "aten::_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)",
          .form = Form::external};
  d.body = [](const Call& c) -> Value {
    const Tensor &g = c.tensor(0), &x = c.tensor(1), &w = c.tensor(2), positive = x > 0;
    return TensorList{where(positive, g, w * g), drop(positive, x * g)};
  };
  d.vjp = [](Vjp& v) {
    const Tensor g = v.saved(0), x = v.saved(1), w = v.saved(2), positive = x > 0;
    const Tensor to_x = v.grad_or_zeros(0), to_w = v.grad_or_zeros(1);
    if (v.need(0)) v.set(0, where(positive, to_x, w * to_x + x * to_w));
    if (v.need(1)) v.set(1, drop(positive, g * to_w));
    if (v.need(2)) v.set(2, drop(positive, g * to_x));
  };
  d.saves = {{0}, {1}, {2}};
  return d;
}

constexpr OpDef kActivationBackwardOps[] = {
    pointwise<3, tensors_decide>("aten::threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor",
                                 []<RealNotBool T>(T g, T x, T threshold) { return where(x <= threshold, T(0), g); },
                                 piecewise_linear_vjp, {{1}}),
    pointwise_choice(
        "aten::leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor",
        [](const Call&) { return &formula_of<LeakyBackward, 3, tensors_decide>; }, piecewise_linear_vjp, {{1}}),
    pointwise_choice(
        "aten::elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor "
        "self_or_result) -> Tensor",
        [](const Call& c) {
          return c[4].to_bool() ? &formula_of<EluBackwardOfResult, 5, first_and_last>
                                : &formula_of<EluBackward, 5, first_and_last>;
        },
        elu_backward_vjp, {{0, 5}, {5}}),
    pointwise_choice("aten::gelu_backward(Tensor grad_output, Tensor self, *, str approximate=\"none\") -> Tensor",
                     [](const Call& c) {
                       return is_tanh_gelu(c[2]) ? &formula_of<TanhGeluBackward, 2, common>
                                                 : &formula_of<GeluBackward, 2, common>;
                     },
                     gelu_backward_vjp, {{0, 1}, {1}}),
    binary("aten::sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor",
           []<Inexact T>(T g, T y) {
             if constexpr (Complex<T>) return g * std::conj((T(1) - y) * y);
             else return g * (T(1) - y) * y;
           },
           sigmoid_backward_vjp, {{0, 1}, {1}}),
    binary("aten::tanh_backward(Tensor grad_output, Tensor output) -> Tensor",
           []<Inexact T>(T g, T y) {
             if constexpr (Complex<T>) return g * std::conj(T(1) - y * y);
             else return g * (T(1) - y * y);
           },
           tanh_backward_vjp, {{0, 1}, {1}}),
    binary("aten::silu_backward(Tensor grad_output, Tensor self) -> Tensor",
           []<Inexact T>(T g, T x) {
             const T s = logistic(x), d = s * (T(1) + x * (T(1) - s));
             if constexpr (Complex<T>) return g * std::conj(d);
             else return g * d;
           },
           silu_backward_vjp, {{0, 1}, {1}}),
    binary("aten::mish_backward(Tensor grad_output, Tensor self) -> Tensor",
           []<Floating T>(T g, T x) {
             const T t = tanh(log1p_exp(x));
             return g * (t + x * logistic(x) * (T(1) - t * t));
           },
           mish_backward_vjp, {{0, 1}, {1}}),
    pointwise<4, tensors_decide>(
        "aten::hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor",
        []<Floating T>(T g, T x, T lo, T hi) { return where(x <= lo || x >= hi, T(0), g); }, piecewise_linear_vjp, {{1}}),
    binary("aten::hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor",
           []<Floating T>(T g, T x) { return where(x > T(-3) && x < T(3), g / T(6), T(0)); }),
    binary("aten::hardswish_backward(Tensor grad_output, Tensor self) -> Tensor",
           []<Floating T>(T g, T x) { return where(x <= T(-3), T(0), where(x < T(3), g * (x / T(3) + T(0.5)), g)); },
           hardswish_backward_vjp, {{0, 1}, {1}}),
    pointwise<3, tensors_decide>("aten::hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor",
                                 []<Floating T>(T g, T x, T l) { return where(x >= -l && x <= l, T(0), g); },
                                 piecewise_linear_vjp, {{1}}),
    pointwise<3, tensors_decide>("aten::softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor",
                                 []<Floating T>(T g, T x, T l) { return where(x >= -l && x <= l, T(0), g); },
                                 piecewise_linear_vjp, {{1}}),
    pointwise<4, tensors_decide>(
        "aten::softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor",
        []<Floating T>(T g, T x, T beta, T threshold) { return where(x * beta > threshold, g, g * logistic(x * beta)); },
        softplus_backward_vjp, {{0, 1}, {1}}),
    log_sigmoid_backward_op(),
    pointwise_choice("aten::logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor",
                     [](const Call& c) {
                       return c[2].is_none() ? &formula_of<LogitBackward, 2, common>
                                             : &formula_of<ClampedLogitBackward, 3, tensors_decide>;
                     }),
    glu_backward_op(),
    prelu_backward_op(),
};

}  // namespace

INGOT_FAMILY(activation_backward, kActivationBackwardOps)

}  // namespace ingot
