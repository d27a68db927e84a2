// Fake quantisation: numbers rounded to what a quantised tensor would hold, still as floats.
// Gradients go through where nothing was cut off; in the learnable ops scale and zero point have
// gradients, too.
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ingot/op/vjp.hpp"
#include "op/call.hpp"
#include "ops/common/composite.hpp"
#include "ops/family.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

struct Range {
  int64_t low, high;
};
Range range_at(const Call& c, int at) {
  const Range r{c[at].to_int64(), c[at + 1].to_int64()};
  INGOT_REQUIRE(r.low <= r.high, "`quant_min` should be less than or         equal to `quant_max`.");
  return r;
}
constexpr const char* kZeroPointOutside = "`zero_point` must be between `quant_min` and `quant_max`.";
// Half types are computed in float.
Tensor computed(const Tensor& x, std::string_view kernel) {
  INGOT_REQUIRE(is_floating(x.dtype()), "\"", kernel, "\" not implemented for '", scalar_type_name(x.dtype()), "'");
  return is_reduced_floating(x.dtype()) ? x.to(DType::f32) : x;
}
constexpr std::string_view kTensorKernel = "fake_quantize_tensor_cachemask_kernel_type_handling",
                           kChannelKernel = "fake_quantize_channel_cachemask_cpu_type_handling";

Tensor within(const Tensor& q, Range r) { return aten<"logical_and">(aten<"ge.Scalar">(q, r.low), aten<"le.Scalar">(q, r.high)); }
// NaN is the lowest number.
Tensor cut_off(const Tensor& q, Range r) {
  return aten<"clamp_max">(aten<"where.ScalarOther">(aten<"ge.Scalar">(q, r.low), q, r.low), r.high);
}

// scale and zero_point are numbers, or float tensors that broadcast. A zero point that is no
// integer is added before rounding.
TensorList quantized(const Tensor& x, const Tensor& q, const Value& scale, const Value& zero_point, Range r) {
  const Tensor whole = cut_off(q, r);
  const Tensor y = zero_point.is_tensor() ? (whole - zero_point.tensor()) * scale.tensor()
                                          : aten<"mul.Scalar">(aten<"sub.Scalar">(whole, zero_point), scale);
  return {y.to(x.dtype()), within(q, r)};
}
TensorList quantized(const Tensor& x, const Tensor& scale, const Tensor& zero_point, Range r, std::string_view kernel) {
  const Tensor q = round(computed(x, kernel) * aten<"reciprocal">(scale)) + zero_point;
  return quantized(x, q, scale, zero_point, r);
}

Value per_tensor(const Call& c) {
  const Tensor& x = c.tensor(0);
  const int64_t zero_point = c[2].to_int64();
  const Range r = range_at(c, 3);
  INGOT_REQUIRE(zero_point >= r.low && zero_point <= r.high, kZeroPointOutside);
  const auto scale = static_cast<float>(c[1].to_double());
  const Tensor q = round(aten<"mul.Scalar">(computed(x, kTensorKernel), 1.0f / scale)) + Scalar(zero_point);
  return quantized(x, q, scale, zero_point, r);
}
// The one element of a tensor of parameters, as a float.
Tensor parameter(const Tensor& t) {
  INGOT_REQUIRE(t.numel() == 1, "a Tensor with ", t.numel(), " elements cannot be converted to Scalar");
  return t.reshape({}).to(DType::f32);
}
Value per_tensor_of_tensors(const Call& c) {
  const Tensor& x = c.tensor(0);
  const Range r = range_at(c, 4);
  const TensorList y = quantized(x, parameter(c.tensor(1)), parameter(c.tensor(2)), r, kTensorKernel);
  INGOT_REQUIRE(c.tensor(3).numel() == 1, "a Tensor with ", c.tensor(3).numel(), " elements cannot be converted to Scalar");
  const Tensor off = aten<"eq.Scalar">(c.tensor(3).reshape({}), 0);
  return TensorList{where(off, x, y[0]), aten<"logical_or">(y[1], off)};
}

// A parameter of each channel, beside the dims of x.
Tensor of_channels(const Tensor& t, const Tensor& x, int axis) {
  Shape sizes = Shape::filled(x.sizes().size(), 1);
  sizes[static_cast<std::size_t>(axis)] = t.size(0);
  return t.to(DType::f32).view(sizes);
}
int checked_axis(const Tensor& x, const Tensor& scale, const Tensor& zero_point, int64_t axis) {
  INGOT_REQUIRE(scale.dim() == 1, "scale should be a 1-D tensor");
  INGOT_REQUIRE(zero_point.dim() == 1, "zero point should be a 1-D tensor");
  INGOT_REQUIRE(scale.numel() == zero_point.numel(), "scale and zero-point need to have the same dimensions");
  const int wrapped = wrap_dim(axis, static_cast<int>(x.dim()));
  INGOT_REQUIRE(scale.numel() == x.size(wrapped), "dimensions of scale and zero-point are not consistent with input tensor");
  INGOT_REQUIRE(axis >= 0, "`axis` must be between 0 and number of dimensions of input");
  return wrapped;
}
Value per_channel(const Call& c) {
  const Tensor &x = c.tensor(0), &scale = c.tensor(1), &zero_point = c.tensor(2);
  const DType t = zero_point.dtype();
  INGOT_REQUIRE(scale.dtype() == DType::f32 || scale.dtype() == DType::bf16, "Scale must be Float or BFloat16, found ",
                scalar_type_name(scale.dtype()));
  INGOT_REQUIRE(t == DType::i32 || t == DType::f32 || t == DType::f16, "Zero-point must be Int32, Float or Half, found ",
                scalar_type_name(t));
  const int axis = checked_axis(x, scale, zero_point, c[3].to_int64());
  const Range r = range_at(c, 4);
  if (!is_floating(t)) aten_value<"_assert_async.msg">(all(within(zero_point, r)), kZeroPointOutside);
  const Tensor s = of_channels(scale, x, axis), z = of_channels(zero_point, x, axis);
  if (!is_floating(t)) return quantized(x, s, z, r, kChannelKernel);
  return quantized(x, round(computed(x, kChannelKernel) * aten<"reciprocal">(s) + z), s, z, r);
}
void mask_vjp(Vjp& v) { v.set(0, aten<"fake_quantize_per_tensor_affine_cachemask_backward">(v.grad(), v.result(1))); }
Value masked(const Call& c) {
  const Tensor &g = c.tensor(0), &mask = c.tensor(1);
  INGOT_REQUIRE(
      mask.dtype() == DType::b8,
      "Expected mask.scalar_type() == ScalarType::Bool to be true, but got false.  (Could this error message be improved?  If "
      "so, please report an enhancement request to PyTorch.)");
  INGOT_REQUIRE(mask.numel() == g.numel(), "`mask` and `dY` are not the same size: `mask` is size ", mask.numel(),
                " and `dY` is size ", g.numel());
  return g * mask;
}

// ---- with gradients of scale and zero point

// self, scale, zero_point and the range of one of the ops, all tensors beside self's dims; `scale`
// is what is multiplied with.
Value learnable_per_tensor(const Call& c) {
  const Range r = range_at(c, 3);
  const Tensor zero_point = clamp(round(parameter(c.tensor(2).select(0, 0))), r.low, r.high);
  return quantized(c.tensor(0), parameter(c.tensor(1).select(0, 0)), zero_point, r, kTensorKernel)[0];
}
Tensor rounded_zero_points(const Tensor& zero_point, const Tensor& x, int axis, Range r) {
  return clamp(round(of_channels(zero_point, x, axis)), r.low, r.high);
}
Value learnable_per_channel(const Call& c) {
  const Tensor& x = c.tensor(0);
  const int axis = checked_axis(x, c.tensor(1), c.tensor(2), c[3].to_int64());
  const Range r = range_at(c, 4);
  return quantized(x, of_channels(c.tensor(1), x, axis), rounded_zero_points(c.tensor(2), x, axis, r), r, kChannelKernel)[0];
}
// The three gradients, each of x's size.
TensorList learnable_gradients(const Tensor& grad, const Tensor& x, const Tensor& scale, const Tensor& zero_point, Range r,
                               double factor) {
  INGOT_REQUIRE(x.sizes() == grad.sizes(), "`X` and `dY` are not the same size");
  INGOT_REQUIRE(r.low <= 0 && r.high >= 0, "Expecting `quant_min` <= 0 and `quant_max` >= 0");
  const Tensor inverse = aten<"reciprocal">(scale), q = round(x * inverse) + zero_point, inside = within(q, r);
  const Tensor edge = cut_off(q, r) - zero_point;
  const Tensor of_scale = grad * where(inside, (edge * scale - x) * inverse, edge);
  const Tensor of_zero_point = grad * aten<"where.ScalarSelf">(inside, 0, -scale);
  return {grad * inside, of_scale * Scalar(factor), of_zero_point * Scalar(factor)};
}
Value learnable_per_tensor_backward(const Call& c) {
  const Range r = range_at(c, 4);
  const Tensor scale = parameter(c.tensor(2).select(0, 0));
  // Rounded half up here, half to even in the forward, as PyTorch has it.
  const Tensor zero_point = aten<"trunc">(clamp(parameter(c.tensor(3).select(0, 0)) + 0.5, r.low, r.high));
  const TensorList g = learnable_gradients(c.tensor(0), c.tensor(1), scale, zero_point, r, c[6].to_double());
  return TensorList{g[0], g[1].sum().unsqueeze(0), g[2].sum().unsqueeze(0)};
}
Value learnable_per_channel_backward(const Call& c) {
  const Tensor &grad = c.tensor(0), &x = c.tensor(1);
  const int axis = checked_axis(x, c.tensor(2), c.tensor(3), c[4].to_int64());
  const Range r = range_at(c, 5);
  const TensorList g =
      learnable_gradients(computed(grad, kChannelKernel), computed(x, kChannelKernel), of_channels(c.tensor(2), x, axis),
                          rounded_zero_points(c.tensor(3), x, axis, r), r, c[7].to_double());
  Shape others;
  for (int d = 0; d < x.dim(); d++)
    if (d != axis) others.push_back(d);
  const auto summed = [&](const Tensor& t) { return others.empty() ? t : t.sum(others); };
  return TensorList{g[0], summed(g[1]), summed(g[2])};
}

// ---- with a range that follows the data

struct Parameters {
  Tensor scale, zero_point;  // in double
};
// The scale and zero point for numbers in [low, high], which is made to have 0 in it. `symmetric`:
// 0 is in the middle, where it is within. Float and double where PyTorch has them.
Parameters parameters_of(const Tensor& low, const Tensor& high, Range r, bool symmetric) {
  const auto least = static_cast<double>(r.low), most = static_cast<double>(r.high);
  const auto scaled = [](const Tensor& t, double by) { return aten<"mul.Scalar">(t, by); };
  Tensor min = aten<"clamp_max">(low, 0), max = aten<"clamp_min">(high, 0), middle;
  if (symmetric) {
    const auto half = static_cast<double>((r.high - r.low) / 2);
    middle = aten<"logical_and">(min < 0, max > 0);
    const Tensor larger = maximum(abs(aten<"div.Scalar">(min, -half - 1)), abs(aten<"div.Scalar">(max, half))).to(DType::f64);
    min = where(middle, scaled(larger, -half - 1).to(DType::f32), min);
    max = where(middle, scaled(larger, half).to(DType::f32), max);
  }
  Tensor scale = aten<"div.Scalar">(max.to(DType::f64) - min.to(DType::f64), most - least);
  const Tensor single = scale.to(DType::f32);
  scale = masked_fill(scale, aten<"logical_or">(single == 0, aten<"isinf">(aten<"reciprocal">(single))), 0.1);
  // No scale is below this one: the range grows with it.
  constexpr float kSmallest = 6.1e-5f;
  const Tensor small = scale < Scalar(kSmallest),
               amplifier = aten<"mul.Scalar">(aten<"reciprocal">(scale.to(DType::f32)), kSmallest);
  const double width = static_cast<double>(kSmallest) * (most - least);
  const Tensor small_min = where(max == 0, -width, min * amplifier), small_max = where(min == 0, width, max * amplifier);
  min = where(small, masked_fill(small_min, min == 0, 0), min).to(DType::f64);
  max = where(small, small_max, max).to(DType::f64);
  scale = masked_fill(scale, small, kSmallest);
  const Tensor from_min = min / scale, from_max = max / scale;
  const Tensor by_min = std::abs(least) - abs(from_min) < std::abs(most) - abs(from_max);
  Tensor zero_point = where(by_min, least - from_min, most - from_max);
  if (symmetric) zero_point = masked_fill(zero_point, middle, (least + most) / 2);
  return {scale, round(clamp(zero_point, least, most))};
}
// self, observer_on, fake_quant_on, running_min, running_max, scale, zero_point, averaging_const,
// quant_min, quant_max, ch_axis, per_row_fake_quant, symmetric_quant
Value observed(const Call& c) {
  const Tensor &x = c.tensor(0), &scale = c.tensor(5), &zero_point = c.tensor(6);
  const Range r = range_at(c, 8);
  const bool rows = c[11].to_bool();
  INGOT_REQUIRE(x.dtype() == DType::f32, "expected scalar type Float but found ", scalar_type_name(x.dtype()));
  INGOT_REQUIRE(!rows || c[10].to_int64() == 0,
                "Per-channel FakeQuant in fused_moving_avg_obs_fake_quant is only supported on axis == 0");
  const auto is_on = [&](int i) {
    INGOT_REQUIRE(c.tensor(i).numel() == 1, "a Tensor with ", c.tensor(i).numel(), " elements cannot be converted to Scalar");
    return c.tensor(i).reshape({}) != 0;
  };
  const Tensor observing = is_on(1), quantizing = is_on(2);
  const Tensor seen = rows ? x.reshape({x.size(0), -1}) : x.reshape({1, -1});
  const auto followed = [&](const Tensor& running, const Tensor& now) {
    const Tensor moved = running + aten<"mul.Scalar">(now - running, static_cast<float>(c[7].to_double()));
    return where(observing, where(aten<"isinf">(running), now, moved), running);
  };
  const Tensor low = followed(c.tensor(3), amin(seen, {1}).reshape(c.tensor(3).sizes()));
  const Tensor high = followed(c.tensor(4), amax(seen, {1}).reshape(c.tensor(4).sizes()));
  aten_value<"_assert_async.msg">(aten<"logical_or">(all(aten<"le.Tensor">(low, high)), aten<"logical_not">(quantizing)),
                                  "In ChooseQuantizationParams, min should be less than or equal to max");
  const Parameters chosen = parameters_of(low, high, r, c[12].to_bool());
  const Tensor new_scale = where(quantizing, chosen.scale.to(scale.dtype()), scale);
  const Tensor new_zero_point = where(quantizing, chosen.zero_point.to(zero_point.dtype()), zero_point);
  const TensorList y = rows ? quantized(x, of_channels(new_scale, x, 0), of_channels(new_zero_point, x, 0), r, kChannelKernel)
                            : quantized(x, parameter(new_scale), parameter(new_zero_point), r, kTensorKernel);
  return TensorList{where(quantizing, y[0], x),
                    aten<"logical_or">(y[1], aten<"logical_not">(quantizing)),
                    low,
                    high,
                    new_scale,
                    new_zero_point};
}
// The same, into the tensors that it was given.
TensorList observed_in_place(const Call& c) {
  const TensorList r = call(op_ref<"_fused_moving_avg_obs_fq_helper_functional">(), c.args).tensors();
  for (int i = 0; i < 4; i++) aten_value<"copy_">(c.tensor(3 + i), r[static_cast<std::size_t>(2 + i)]);
  return {r[0], r[1]};
}

constexpr OpDef learnable(std::string_view schema, Value (*body)(const Call&), void (*vjp)(Vjp&)) {
  return {.schema = schema, .body = body, .vjp = vjp, .saves = {{0}, {1}, {2}}};
}
void set_needed(Vjp& v, const TensorList& g) {
  for (int i = 0; i < 3; i++)
    if (v.need(i)) v.set(i, g[static_cast<std::size_t>(i)]);
}

constexpr OpDef kFakeQuantizeOps[] = {
    {.schema =
         "aten::fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min, int quant_max) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value {
       return call(op_ref<"fake_quantize_per_tensor_affine_cachemask">(), c.args).tensors()[0];
     },
     .autocast = Autocast::float32},
    composite(
        "aten::fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, int quant_min, int "
        "quant_max) -> Tensor",
        [](const Call& c) -> Value {
          const Tensor on = aten<"ones">(Shape{1}, DType::i64, Value(), c.tensor(0).device());
          return atens<"_fake_quantize_per_tensor_affine_cachemask_tensor_qparams">(c[0], c[1], c[2], on, c[3], c[4])[0];
        }),
    composite(
        "aten::fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max) -> "
        "Tensor",
        [](const Call& c) -> Value { return call(op_ref<"fake_quantize_per_channel_affine_cachemask">(), c.args).tensors()[0]; }),
    {.schema =
         "aten::fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, int quant_min, int quant_max) -> "
         "(Tensor output, Tensor mask)",
     .body = per_tensor,
     .vjp = mask_vjp,
     .saves = {{kResult - 1}},
     .grad = {.results = 1}},
    {.schema =
         "aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, Tensor "
         "fake_quant_enabled, int quant_min, int quant_max) -> (Tensor output, Tensor mask)",
     .body = per_tensor_of_tensors,
     .vjp = mask_vjp,
     .saves = {{kResult - 1}},
     .grad = {.refuses = 0b1110, .results = 1}},
    {.schema =
         "aten::fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int "
         "quant_max) -> (Tensor output, Tensor mask)",
     .body = per_channel,
     .vjp = [](Vjp& v) { v.set(0, aten<"fake_quantize_per_channel_affine_cachemask_backward">(v.grad(), v.result(1))); },
     .saves = {{kResult - 1}},
     .grad = {.refuses = 0b110, .results = 1}},
    composite("aten::fake_quantize_per_tensor_affine_cachemask_backward(Tensor grad, Tensor mask) -> Tensor", masked),
    composite("aten::fake_quantize_per_channel_affine_cachemask_backward(Tensor grad, Tensor mask) -> Tensor", masked),
    learnable(
        "aten::_fake_quantize_learnable_per_tensor_affine(Tensor self, Tensor scale, Tensor zero_point, int quant_min, int quant_max, "
        "float grad_factor=1.) -> Tensor",
        learnable_per_tensor,
        [](Vjp& v) {
          set_needed(v, atens<"_fake_quantize_learnable_per_tensor_affine_backward">(v.grad(), v.saved(0), v.saved(1), v.saved(2),
                                                                                     v.arg(3), v.arg(4), v.arg(5)));
        }),
    learnable(
        "aten::_fake_quantize_learnable_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int "
        "quant_max, float grad_factor=1.) -> Tensor",
        learnable_per_channel,
        [](Vjp& v) {
          set_needed(v, atens<"_fake_quantize_learnable_per_channel_affine_backward">(
                            v.grad(), v.saved(0), v.saved(1), v.saved(2), v.arg(3), v.arg(4), v.arg(5), v.arg(6)));
        }),
    {.schema =
         "aten::_fake_quantize_learnable_per_tensor_affine_backward(Tensor grad, Tensor self, Tensor scale, Tensor zero_point, int "
         "quant_min, int quant_max, float grad_factor=1.) -> (Tensor, Tensor, Tensor)",
     .body = learnable_per_tensor_backward},
    {.schema =
         "aten::_fake_quantize_learnable_per_channel_affine_backward(Tensor grad, Tensor self, Tensor scale, Tensor zero_point, int axis, "
         "int quant_min, int quant_max, float grad_factor=1.) -> (Tensor, Tensor, Tensor)",
     .body = learnable_per_channel_backward},
    {.schema =
         "aten::_fused_moving_avg_obs_fq_helper_functional(Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor running_min, Tensor "
         "running_max, Tensor scale, Tensor zero_point, float averaging_const, int quant_min, int quant_max, int ch_axis, bool "
         "per_row_fake_quant=False, bool symmetric_quant=False) -> (Tensor output, Tensor mask, Tensor running_min_out, Tensor "
         "running_max_out, Tensor scale_out, Tensor zero_point_out)",
     .body = observed,
     .vjp = mask_vjp,
     .saves = {{kResult - 1}},
     .grad = {.results = 1}},
    composite(
        "aten::_fused_moving_avg_obs_fq_helper(Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor(a!) running_min, Tensor(b!) "
        "running_max, Tensor(c!) scale, Tensor(d!) zero_point, float averaging_const, int quant_min, int quant_max, int ch_axis, bool "
        "per_row_fake_quant=False, bool symmetric_quant=False) -> (Tensor output, Tensor mask)",
        [](const Call& c) -> Value { return observed_in_place(c); }),
    composite(
        "aten::fused_moving_avg_obs_fake_quant(Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor(a!) running_min, Tensor(b!) "
        "running_max, Tensor(c!) scale, Tensor(d!) zero_point, float averaging_const, int quant_min, int quant_max, int ch_axis, bool "
        "per_row_fake_quant=False, bool symmetric_quant=False) -> Tensor",
        [](const Call& c) -> Value { return observed_in_place(c)[0]; }),
};

}  // namespace

INGOT_FAMILY(fake_quantize, kFakeQuantizeOps)

}  // namespace ingot
