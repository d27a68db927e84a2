// The operators that exported quantised models have: numbers rounded to integers by a scale and a
// zero point, and back. All are programs of pointwise ops and folds, so that they fuse with what is
// around them. Types are those that PyTorch's promotion gives its formulas.
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ingot/op/vjp.hpp"
#include "op/call.hpp"
#include "ops/common/composite.hpp"
#include "ops/family.hpp"

namespace ingot {
namespace {

// ---- checks

struct Bounds {
  DType dtype;
  int64_t low, high;
};
constexpr Bounds kBounds[] = {{DType::u8, 0, 255},
                              {DType::i8, -128, 127},
                              {DType::u16, 0, 65535},
                              {DType::i16, -32768, 32767},
                              {DType::i32, INT32_MIN, INT32_MAX},
                              {DType::f8e5m2, -57344, 57344},
                              {DType::f8e4m3fn, -448, 448}};
const Bounds* bounds_of(DType t) {
  for (const Bounds& b : kBounds)
    if (b.dtype == t) return &b;
  return nullptr;
}
void check_bounds(const Value& low, const Value& high, DType t) {
  const Bounds* b = bounds_of(t);
  INGOT_REQUIRE(b, "Unsupported dtype: ", t);
  if (low.is_tensor()) return;
  INGOT_REQUIRE(low.to_int64() >= b->low, "quant_min out of bounds for dtype, quant_min_lower_bound: ", b->low,
                " quant_min: ", low.to_int64());
  INGOT_REQUIRE(high.to_int64() <= b->high, "quant_max out of bounds for dtype, quant_max_upper_bound: ", b->high,
                " quant_max: ", high.to_int64());
}
// What is quantised, in float.
Tensor as_float(const Tensor& x) {
  INGOT_REQUIRE(x.dtype() == DType::f32 || x.dtype() == DType::f16 || x.dtype() == DType::bf16,
                "Expecting input to have dtype torch.float32, but got dtype: ", x.dtype());
  return x.to(DType::f32);
}
void check_single(const Tensor& scale, const Tensor& zero_point) {
  INGOT_REQUIRE(zero_point.numel() == 1, "Expecting zero_point tensor to be one element, but received : ", zero_point.numel());
  INGOT_REQUIRE(scale.numel() == 1, "Expecting scale tensor to be one element, but received : ", scale.numel());
}

Tensor clamped(const Tensor& q, const Value& low, const Value& high) {
  if (low.is_tensor()) return aten<"clamp.Tensor">(q, low.tensor().reshape({}), high.tensor().reshape({}));
  return aten<"clamp">(q, low, high);
}

// ---- one scale for all

Value quantize_per_tensor(const Call& c) {
  const Tensor x = as_float(c.tensor(0));
  const DType t = c[5].dtype();
  check_bounds(c[3], c[4], t);
  return clamped(round(aten<"mul.Scalar">(x, 1.0 / c[1].to_double())) + Scalar(c[2].to_int64()), c[3], c[4]).to(t);
}
Value quantize_per_tensor_of_tensors(const Call& c) {
  check_single(c.tensor(1), c.tensor(2));
  const Tensor x = as_float(c.tensor(0));
  const DType t = c[5].dtype();
  check_bounds(c[3], c[4], t);
  const Tensor inverse = aten<"reciprocal">(c.tensor(1).reshape({}).to(DType::f64));
  return clamped(round(x * inverse) + c.tensor(2).reshape({}), c[3], c[4]).to(t);
}
void check_dequantized(const Call& c, int at, std::string_view found) {
  const DType t = c[at].dtype();
  INGOT_REQUIRE(c.tensor(0).dtype() == t, "Expecting input to have dtype: ", t, ", but got ", found, c.tensor(0).dtype());
}
Value dequantize_per_tensor(const Call& c) {
  check_dequantized(c, 5, "");
  INGOT_REQUIRE(bounds_of(c[5].dtype()), "Unsupported dtype in dequantize_per_tensor: ", c[5].dtype());
  const Tensor x = c.tensor(0).to(c[6].dtype_or(DType::f32));
  return aten<"mul.Scalar">(x - Scalar(c[2].to_int64()), c[1]);
}
Value dequantize_per_tensor_of_tensors(const Call& c) {
  check_single(c.tensor(1), c.tensor(2));
  check_dequantized(c, 5, "");
  INGOT_REQUIRE(bounds_of(c[5].dtype()), "Unsupported dtype in dequantize_per_tensor: ", c[5].dtype());
  const Tensor x = c.tensor(0).to(c[6].dtype_or(DType::f32));
  return (x - c.tensor(2).reshape({})) * c.tensor(1).reshape({});
}

// ---- one for each channel

int axis_of(const Call& c, const Tensor& x, int at) {
  const int64_t axis = c[at].to_int64();
  INGOT_REQUIRE(axis < x.dim(), "Expecting axis to be < ", x.dim());
  INGOT_REQUIRE(axis >= -x.dim(), "Dimension out of range (expected to be in range of [", -x.dim(), ", ", x.dim() - 1,
                "], but got ", axis, ")");
  return static_cast<int>(axis < 0 ? axis + x.dim() : axis);
}
Tensor beside(const Tensor& parameter, const Tensor& x, int axis) {
  Shape sizes = Shape::filled(x.sizes().size(), 1);
  sizes[static_cast<std::size_t>(axis)] = parameter.size(0);
  return parameter.view(sizes);
}
Value quantize_per_channel(const Call& c) {
  const Tensor x = as_float(c.tensor(0));
  const int axis = axis_of(c, x, 3);
  const DType t = c[6].dtype();
  check_bounds(c[4], c[5], t);
  const Tensor q = round(x * aten<"reciprocal">(beside(c.tensor(1), x, axis))) + beside(c.tensor(2), x, axis);
  return clamped(q, c[4], c[5]).to(t);
}
Value dequantize_per_channel(const Call& c) {
  const Tensor& x = c.tensor(0);
  check_dequantized(c, 6, "dtype: ");
  const int axis = axis_of(c, x, 3);
  check_bounds(c[4], c[5], c[6].dtype());
  const Tensor shifted = c[2].is_none() ? x : x - beside(c.tensor(2), x, axis);
  return (shifted * beside(c.tensor(1), x, axis)).to(c[7].dtype_or(DType::f32));
}
// Rounded and back again, in float: what fake_quantize_per_channel_affine does, in this library's
// order.
struct FakeQuantized {
  Tensor q, scale, zero_point;
  explicit FakeQuantized(const Tensor& x, const Tensor& scales, const Tensor& zero_points, int axis)
      : scale(beside(scales.to(DType::f32), x, axis)), zero_point(beside(zero_points.to(DType::i32), x, axis)) {
    q = round(x * aten<"reciprocal">(scale)) + zero_point;
  }
};
Value fake_quant_per_channel(const Call& c) {
  const Tensor& x = c.tensor(0);
  INGOT_REQUIRE(x.dtype() == DType::f32, "Expecting input to have dtype torch.float32, but got dtype: ", x.dtype());
  const FakeQuantized f(x, c.tensor(1), c.tensor(2), axis_of(c, x, 3));
  return (clamped(f.q, c[4], c[5]) - f.zero_point) * f.scale;
}
void fake_quant_vjp(Vjp& v) {
  if (!v.need(0)) return;
  const Tensor x = v.saved(0);
  const int64_t axis = v.arg(3).to_int64();
  const FakeQuantized f(x, v.saved(1), v.saved(2), static_cast<int>(axis < 0 ? axis + x.dim() : axis));
  v.set(0, v.grad() * aten<"logical_and">(aten<"ge.Scalar">(f.q, v.arg(4)), aten<"le.Scalar">(f.q, v.arg(5))));
}

// ---- one for each group of a row

struct Groups {
  Tensor rows;  // one group a row
  explicit Groups(const Tensor& x, const Tensor& scales, Int size, std::string_view name) {
    INGOT_REQUIRE(size > 1, "group_size must be > 1");
    if (size > x.size(-1) && scales.size(-1) == 1) size = x.size(-1);
    INGOT_REQUIRE(mod(x.size(-1), size) == 0, name, ".shape[-1] must be divisible by group_size");
    INGOT_REQUIRE(x.dim() == 2, name, " must be 2-dimensional");
    rows = x.reshape({-1, size});
  }
};
Value quantize_per_group(const Call& c) {
  const Tensor& x = c.tensor(0);
  const Groups g(x, c.tensor(1), c[6].to_int(), "input");
  aten_value<"_assert_async.msg">(aten<"logical_not">(any(aten<"isnan">(x))), "to_quant must not contain NaNs");
  const Tensor q = g.rows * aten<"reciprocal">(c.tensor(1).reshape({-1, 1})) + c.tensor(2).reshape({-1, 1});
  return clamped(round(q), c[3], c[4]).to(c[5].dtype()).reshape(x.sizes());
}
Value dequantize_per_group(const Call& c) {
  const Tensor& x = c.tensor(0);
  const Groups g(x, c.tensor(1), c[6].to_int(), "w_int8");
  const Tensor zero_point =
      c[2].is_none() ? aten<"zeros">(Shape{}, DType::i32, Value(), x.device()) : c.tensor(2).reshape({-1, 1});
  return ((g.rows - zero_point) * c.tensor(1).reshape({-1, 1})).reshape(x.sizes()).to(c[7].dtype());
}

// ---- one for each token: the last dim shares it

Value quantize_per_token(const Call& c) {
  const Tensor& x = c.tensor(0);
  const DType t = c[5].dtype();
  check_bounds(c[3], c[4], t);
  const Int tokens = x.sizes().sub(0, x.sizes().size() - 1).product();
  INGOT_REQUIRE(tokens == c.tensor(1).numel(), "num_tokens: ", tokens, " scales: torch.Size(", c.tensor(1).sizes(), ")");
  INGOT_REQUIRE(tokens == c.tensor(2).numel(), "num_tokens: ", tokens, " zero_points: torch.Size(", c.tensor(2).sizes(), ")");
  return clamped(round(x * aten<"reciprocal">(c.tensor(1)) + c.tensor(2)), c[3], c[4]).to(t);
}
Value dequantize_per_token(const Call& c) { return ((c.tensor(0) - c.tensor(2)) * c.tensor(1)).to(c[6].dtype()); }
Value choose_per_token(const Call& c) {
  INGOT_REQUIRE(c[1].dtype() == DType::i8, "unsupported dtype in choose_qparams_per_token: ", c[1].dtype());
  Tensor largest = amax(abs(c.tensor(0)), {-1}, true);
  if (largest.dtype() == DType::f16) largest = largest.to(DType::f32);
  const Tensor scales = aten<"div.Scalar">(clamp(largest, 1e-5), 127);
  return TensorList{scales, zeros_like(scales)};
}
Value choose_per_token_asymmetric(const Call& c) {
  const Tensor& x = c.tensor(0);
  const Tensor least = amin(x, {-1}, true), most = amax(x, {-1}, true);
  const Tensor low = minimum(least, zeros_like(least)), high = maximum(most, zeros_like(most));
  const Tensor scale = clamp(aten<"div.Scalar">(high - low, 255.0), 1.1920928955078125e-07);
  const Tensor from_low = low / scale, from_high = high / scale;
  const Tensor sum = (from_low + -128) + (from_high + 127);
  const Tensor zero_point = round(clamp(where(sum > 0, -128 - from_low, 127 - from_high), -128, 127));
  return TensorList{scale.to(DType::f64), zero_point.to(DType::i64)};
}

// ---- one for all, of a tensor's range

void check_range(const Call& c) {
  const DType from = c.tensor(0).dtype();
  INGOT_REQUIRE(from == DType::f32 || from == DType::f16 || from == DType::bf16,
                "Expecting input to have dtype torch.float32/16/b16, but got dtype: ", from);
  INGOT_REQUIRE(bounds_of(c[4].dtype()), "Expecting target dtype to be one of a quantised tensor, but got: ", c[4].dtype());
  const int64_t low = c[1].to_int64(), high = c[2].to_int64();
  INGOT_REQUIRE(low <= 0 && high >= 0, "Used-specified quantization range must include 0.");
  INGOT_REQUIRE(low < high, "qmin must be strictly less than qmax for user-specified quantization range.");
}
Value choose(const Call& c, bool symmetric) {
  check_range(c);
  const Tensor& x = c.tensor(0);
  const Tensor least = amin(x), most = amax(x);
  const int64_t lowest = c[1].to_int64(), highest = c[2].to_int64();
  const auto width = static_cast<double>(highest - lowest);
  const Tensor low = minimum(least, zeros_like(least)), high = maximum(most, zeros_like(most));
  const Tensor eps = aten<"full">(Shape{1}, c[3], DType::f32, Value(), x.device());
  if (symmetric) {
    const Tensor scale = maximum(aten<"div.Scalar">(maximum(-low, high), width / 2), eps);
    const int zero_point = c[4].dtype() == DType::u8 ? 128 : 0;
    return TensorList{scale.to(DType::f64), aten<"full">(Shape{1}, zero_point, DType::i64, Value(), x.device())};
  }
  const Tensor scale = maximum(aten<"div.Scalar">(high - low, width), eps);
  const Tensor zero_point = clamp(Scalar(lowest) - round(low / scale).to(DType::i32), lowest, highest);
  return TensorList{scale.to(DType::f64), zero_point.to(DType::i64)};
}

constexpr OpDef kQuantizedDecomposedOps[] = {
    composite(
        "quantized_decomposed::quantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType "
        "dtype) -> Tensor",
        quantize_per_tensor),
    composite(
        "quantized_decomposed::quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max, "
        "ScalarType dtype) -> Tensor",
        quantize_per_tensor_of_tensors),
    composite(
        "quantized_decomposed::quantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, Tensor quant_min, Tensor "
        "quant_max, ScalarType dtype) -> Tensor",
        quantize_per_tensor_of_tensors),
    composite(
        "quantized_decomposed::dequantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType "
        "dtype, *, ScalarType? out_dtype=None) -> Tensor",
        dequantize_per_tensor),
    composite(
        "quantized_decomposed::dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max, "
        "ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
        dequantize_per_tensor_of_tensors),
    composite(
        "quantized_decomposed::dequantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, Tensor quant_min, Tensor "
        "quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
        dequantize_per_tensor_of_tensors),
    composite(
        "quantized_decomposed::quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, int "
        "quant_max, ScalarType dtype) -> Tensor",
        quantize_per_channel),
    composite(
        "quantized_decomposed::dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, int quant_min, int "
        "quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
        dequantize_per_channel),
    {.schema =
         "quantized_decomposed::fake_quant_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, int "
         "quant_max) -> Tensor",
     .body = fake_quant_per_channel,
     .vjp = fake_quant_vjp,
     .saves = {{0}, {1}, {2}}},
    composite(
        "quantized_decomposed::quantize_per_channel_group(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, "
        "ScalarType dtype, int group_size) -> Tensor",
        quantize_per_group),
    composite(
        "quantized_decomposed::dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? zero_points, int quant_min, int "
        "quant_max, ScalarType dtype, int group_size, ScalarType output_dtype) -> Tensor",
        dequantize_per_group),
    composite(
        "quantized_decomposed::quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, "
        "ScalarType dtype) -> Tensor",
        quantize_per_token),
    composite(
        "quantized_decomposed::dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, "
        "ScalarType dtype, ScalarType output_dtype) -> Tensor",
        dequantize_per_token),
    composite("quantized_decomposed::choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, Tensor)",
              choose_per_token),
    composite("quantized_decomposed::choose_qparams_per_token_asymmetric(Tensor input, ScalarType dtype) -> (Tensor, Tensor)",
              choose_per_token_asymmetric),
    composite(
        "quantized_decomposed::_choose_qparams_per_token_asymmetric_impl(Tensor input, ScalarType dtype) -> (Tensor, Tensor)",
        choose_per_token_asymmetric),
    composite(
        "quantized_decomposed::choose_qparams.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) -> (Tensor, "
        "Tensor)",
        [](const Call& c) { return choose(c, false); }),
    composite(
        "quantized_decomposed::choose_qparams_symmetric.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) "
        "-> (Tensor, Tensor)",
        [](const Call& c) { return choose(c, true); }),
    composite("quantized_decomposed::convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor",
              [](const Call& c) -> Value { return aten<"_to_copy">(c.tensor(0), c[1]); }),
};

}  // namespace

INGOT_FAMILY(quantized_decomposed, kQuantizedDecomposedOps)

}  // namespace ingot
