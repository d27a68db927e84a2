#include "ingot/decompositions.hpp"

#include <cmath>

#include "base/dtype.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"

namespace ingot::aot {
namespace {

bool is_small(DType t) { return is_floating(t) && size_of(t) < 4; }

// Runs `f` on the tensors in the type that the kernels compute in; its result has the type of the
// first.
template <class F, class... Tensors>
Value computed(const F& f, const Tensor& first, const Tensors&... others) {
  const auto wide = [](const Tensor& t) { return is_small(t.dtype()) ? t.to(DType::f32) : t; };
  const Tensor r = f(wide(first), wide(others)...);
  return r.dtype() == first.dtype() ? r : r.to(first.dtype());
}

Tensor zero_where(const Tensor& condition, const Tensor& otherwise) { return aten<"where.ScalarSelf">(condition, 0, otherwise); }
Tensor at_most(const Tensor& x, const Value& v) { return aten<"le.Scalar">(x, v); }
Tensor at_least(const Tensor& x, const Value& v) { return aten<"ge.Scalar">(x, v); }
Tensor above(const Tensor& x, const Value& v) { return aten<"gt.Scalar">(x, v); }
Tensor times(const Tensor& x, const Value& v) { return aten<"mul.Tensor">(x, v); }
Tensor conjugate(const Tensor& x) { return aten<"conj_physical">(x); }
Tensor ramp(const Tensor& x) { return aten<"clamp">(x + 3, 0, 6); }  // of hardsigmoid and hardswish

// ---- gradients: (grad_output, self or result, …)

Value gelu_backward(const Call& c) {
  if (c[2].string() == "none")
    return computed(
        [](const Tensor& g, const Tensor& x) {
          const Tensor cdf = (aten<"erf">(x * M_SQRT1_2) + 1) * 0.5, pdf = (x * x * -0.5).exp() * (M_2_SQRTPI * M_SQRT1_2 * 0.5);
          return g * (cdf + x * pdf);
        },
        c.tensor(0), c.tensor(1));
  return computed(
      [](const Tensor& g, const Tensor& x) {
        constexpr double kBeta = M_SQRT2 * M_2_SQRTPI * 0.5, kCubic = 0.044715;
        const Tensor t = ((x + x * x * x * kCubic) * kBeta).tanh(), slope = (x * x * (3 * kCubic) + 1) * kBeta;
        return g * ((t + 1) * 0.5 + x * 0.5 * (aten<"rsub.Scalar">(t * t, 1)) * slope);
      },
      c.tensor(0), c.tensor(1));
}
Value sigmoid_backward(const Call& c) {
  return computed([](const Tensor& g, const Tensor& y) { return g * conjugate(y * aten<"rsub.Scalar">(y, 1)); }, c.tensor(0),
                  c.tensor(1));
}
Value tanh_backward(const Call& c) {
  return computed([](const Tensor& g, const Tensor& y) { return g * conjugate(aten<"rsub.Scalar">(y * y, 1)); }, c.tensor(0),
                  c.tensor(1));
}
Value silu_backward(const Call& c) {
  return computed(
      [](const Tensor& g, const Tensor& x) {
        const Tensor s = aten<"sigmoid">(x), rest = x * aten<"rsub.Scalar">(s, 1) + 1;
        return is_complex(x.dtype()) ? g * conjugate(s * rest) : g * s * rest;
      },
      c.tensor(0), c.tensor(1));
}
Value leaky_relu_backward(const Call& c) {
  return computed([&](const Tensor& g, const Tensor& x) { return where(above(x, 0), g, times(g, c[2])); }, c.tensor(0),
                  c.tensor(1));
}
Value threshold_backward(const Call& c) { return zero_where(at_most(c.tensor(1), c[2]), c.tensor(0)); }
Value hardtanh_backward(const Call& c) {
  const Tensor& x = c.tensor(1);
  return zero_where(aten<"logical_or">(at_most(x, c[2]), at_least(x, c[3])), c.tensor(0));
}
Value hardsigmoid_backward(const Call& c) {
  return computed([](const Tensor& g,
                     const Tensor& x) { return zero_where(aten<"logical_or">(at_most(x, -3), at_least(x, 3)), g * (1.0 / 6)); },
                  c.tensor(0), c.tensor(1));
}
Value hardswish_backward(const Call& c) {
  return computed(
      [](const Tensor& g, const Tensor& x) { return zero_where(at_most(x, -3), where(at_least(x, 3), g, g * (x / 3 + 0.5))); },
      c.tensor(0), c.tensor(1));
}
Value elu_backward(const Call& c) {  // (grad_output, alpha, scale, input_scale, is_result, self_or_result)
  const double scale = c[2].to_double(), below = c[1].to_double() * scale, inner = c[3].to_double();
  return computed(
      [&](const Tensor& g, const Tensor& x) {
        const Tensor slope = c[4].to_bool() ? (x + below) * inner : (x * inner).exp() * (inner * below);
        return where(at_most(x, 0), g * slope, g * scale);
      },
      c.tensor(0), c.tensor(5));
}

// ---- activations

Value elu(const Call& c) {  // (self, alpha, scale, input_scale)
  const double scale = c[2].to_double(), below = c[1].to_double() * scale, inner = c[3].to_double();
  return computed([&](const Tensor& x) { return where(at_most(x, 0), aten<"expm1">(x * inner) * below, x * scale); },
                  c.tensor(0));
}
Value leaky_relu(const Call& c) {
  return computed([&](const Tensor& x) { return where(above(x, 0), x, times(x, c[1])); }, c.tensor(0));
}
Value hardtanh(const Call& c) { return aten<"clamp">(c[0], c[1], c[2]); }
Value hardsigmoid(const Call& c) {
  return computed([](const Tensor& x) { return ramp(x) / 6; }, c.tensor(0));
}
Value hardswish(const Call& c) {
  return computed([](const Tensor& x) { return x * ramp(x) / 6; }, c.tensor(0));
}

// ----

// The value takes the type of what it fills, and the result is row-major.
Value masked_fill(const Call& c) {
  const Tensor& self = c.tensor(0);
  const Tensor value =
      c[2].is_tensor() ? c.tensor(2).to(self.dtype()) : aten<"scalar_tensor">(c[2], self.dtype(), Value(), self.device());
  return where(c.tensor(1), value, self).contiguous();
}
Value detach(const Call& c) { return aten<"alias">(c[0]); }

}  // namespace

const Decompositions& default_decompositions() {
  static const Decompositions table{
      {&op("detach"), detach},
      {&op("gelu_backward"), gelu_backward},
      {&op("leaky_relu_backward"), leaky_relu_backward},
      {&op("sigmoid_backward"), sigmoid_backward},
      {&op("threshold_backward"), threshold_backward},
      {&op("hardtanh_backward"), hardtanh_backward},
      {&op("hardsigmoid_backward"), hardsigmoid_backward},
      {&op("hardswish_backward"), hardswish_backward},
      {&op("tanh_backward"), tanh_backward},
      {&op("silu_backward"), silu_backward},
      {&op("elu_backward"), elu_backward},
      {&op("masked_fill.Scalar"), masked_fill},
      {&op("masked_fill.Tensor"), masked_fill},
      {&op("elu"), elu},
      {&op("leaky_relu"), leaky_relu},
      {&op("hardtanh"), hardtanh},
      {&op("hardswish"), hardswish},
      {&op("hardsigmoid"), hardsigmoid},
  };
  return table;
}

}  // namespace ingot::aot
