// Scaled dot product attention: softmax(q kᵀ · scale + mask) v over the last two dims.
#include <cmath>
#include <utility>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "expr/if_known.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "op/vjp.hpp"
#include "ops/family.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

constexpr double kInfinity = HUGE_VAL;

// 1 / sqrt(head size) where none is given: the head size must then be a plain number.
double scale_of(const Tensor& query, const Value& scale) {
  return scale.is_none() ? 1 / std::sqrt(static_cast<double>(query.size(-1).value())) : scale.to_double();
}

// True means "takes part": 0 there, -inf elsewhere.
Tensor additive_mask(const Tensor& mask, DType dtype) {
  if (mask.dtype() != DType::b8) return mask;
  return aten<"where.ScalarSelf">(mask, 0.0, aten<"scalar_tensor">(-kInfinity, dtype, Value(), mask.device()));
}
Tensor causal_mask(Int rows, Int columns, DType dtype, Device device) {
  return additive_mask(aten<"tril">(aten<"ones">(Shape{rows, columns}, DType::b8, Value(), device)), dtype);
}

void check_inputs(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool is_causal) {
  INGOT_REQUIRE(q.dtype() == k.dtype() && q.dtype() == v.dtype(),
                "Expected query, key, and value to have the same dtype, but got query.dtype: ", q.dtype(),
                " key.dtype: ", k.dtype(), " and value.dtype: ", v.dtype(), " instead.");
  INGOT_REQUIRE(q.dim() >= 2 && k.dim() >= 2 && v.dim() >= 2,
                "Expected query, key, and value to all be at least 2 dimensional, but got query.dim: ", q.dim(),
                ", key.dim: ", k.dim(), " and value.dim: ", v.dim(), " instead.");
  if (!mask.defined()) return;
  INGOT_REQUIRE(!is_causal, "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
  INGOT_REQUIRE(mask.dtype() == DType::b8 || mask.dtype() == DType::f32 || mask.dtype() == q.dtype(),
                "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: ", mask.dtype(),
                " and query.dtype: ", q.dtype(), " instead.");
}

// Where PyTorch's CPU backend takes the one-node kernel instead of coming apart into products and a
// softmax.
bool fits_fused(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, double dropout) {
  if (dropout != 0 || q.dim() != 4 || k.dim() != 4 || v.dim() != 4 || !q.is_floating_point() || is_float8(q.dtype()))
    return false;
  if (mask.defined()) {
    if (mask.requires_grad() || (mask.dim() != 2 && mask.dim() != 4)) return false;
    auto fits = [](Int have, Int want) { return statically_equal(have, 1) || have == want; };
    if (!fits(mask.size(-2), q.size(2)) || !fits(mask.size(-1), k.size(2))) return false;
    if (mask.dim() == 4 && (!fits(mask.size(0), q.size(0)) || !fits(mask.size(1), q.size(1)))) return false;
  }
  for (int64_t d : {int64_t{0}, int64_t{1}, int64_t{3}})
    if (!(q.size(d) == k.size(d)) || !(q.size(d) == v.size(d))) return false;
  if (!(k.size(2) == v.size(2)) || q.size(2) == 0 || k.size(2) == 0) return false;
  return statically_equal(q.stride(3), 1) && statically_equal(k.stride(3), 1) && statically_equal(v.stride(3), 1);
}

// (query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
Value attention(const Call& c) {
  const Tensor &q = c.tensor(0), &k = c.tensor(1), &v = c.tensor(2), given = c[3].tensor_or_none();
  check_inputs(q, k, v, given, c[5].to_bool());
  const Tensor mask = given.defined() ? additive_mask(given, q.dtype()) : Tensor();
  if (fits_fused(q, k, v, mask, c[4].to_double()))
    return atens<"_scaled_dot_product_flash_attention_for_cpu">(q, k, v, c[4], c[5], mask, c[6])[0];
  return atens<"_scaled_dot_product_attention_math">(q, k, v, mask, c[4], c[5], Value(), c[6], c[7])[0];
}

// Each head of key and value serves a group of query heads.
Tensor repeat_heads(const Tensor& t, const Tensor& q) {
  const Int have = t.size(-3), want = q.size(-3);
  if (have == want) return t;
  INGOT_REQUIRE(mod(want, have) == 0, "Number of heads in key and value must divide the number of heads in query, found ", have,
                " and ", want);
  return aten<"repeat_interleave.self_int">(t, floor_div(want, have), -3);
}

// (query, key, value, attn_mask, dropout_p, is_causal, dropout_mask, scale, enable_gqa) -> (output,
// attention weights)
Value attention_math(const Call& c) {
  const DType dtype = c.tensor(0).dtype(), high = is_reduced_floating(dtype) ? DType::f32 : dtype;
  const Tensor q = c.tensor(0).to(high);
  Tensor k = c.tensor(1).to(high), v = c.tensor(2).to(high), mask = c[3].tensor_or_none();
  const double dropout = c[4].to_double();
  check_inputs(q, k, v, mask.defined() && mask.dtype() != DType::b8 ? Tensor() : mask, c[5].to_bool());
  if (c[5].to_bool()) {
    INGOT_REQUIRE(!mask.defined(), "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
    mask = causal_mask(q.size(-2), k.size(-2), high, q.device());
  } else if (mask.defined()) {
    mask = additive_mask(mask, high);
  }
  if (c[8].to_bool()) {
    k = repeat_heads(k, q);
    v = repeat_heads(v, q);
  }
  // Half of the scale on each side keeps the products small.
  const double scale = scale_of(q, c[7]), half = std::sqrt(std::abs(scale));
  Tensor weights = matmul(q * (scale < 0 ? -half : half), k.transpose(-2, -1) * half);
  if (mask.defined()) weights = weights + mask;
  weights = aten<"_safe_softmax">(weights, -1);
  if (dropout > 0 && c[6].is_tensor()) {
    weights = aten<"masked_fill.Scalar">(weights, aten<"logical_not">(c[6]), 0);
    return TensorList{matmul(weights, v * (1 / (1 - dropout))).to(dtype), weights.to(dtype)};
  }
  if (dropout > 0) weights = aten<"dropout">(weights, dropout, true);
  return TensorList{matmul(weights, v).to(dtype), weights.to(dtype)};
}

// ---- the fused node: output and logsumexp of the scores; backward keeps no weights

// [B, H, L, …] stored as [B, L, H, …]: what a transformer reshapes next.
Tensor heads_inside(const Tensor& t) { return t.transpose(1, 2).contiguous().transpose(1, 2); }

// The elements of t in the order of the query's, which is how PyTorch's result lies.
Tensor laid_out_as(const Tensor& query, const Tensor& t) {
  const Shape strides = dense_strides_like(query.sizes(), query.strides());
  int order[] = {0, 1, 2, 3};  // dims from the outermost
  for (int n = 1; n < 4; n++)
    for (int k = n; k > 0 && less_if_known(strides[order[k - 1]], strides[order[k]]).value_or(false); k--)
      std::swap(order[k - 1], order[k]);
  Shape there{0, 0, 0, 0}, back{0, 0, 0, 0};
  for (int k = 0; k < 4; k++) there[k] = order[k], back[order[k]] = k;
  return t.permute(there).contiguous().permute(back);
}

struct Fused {
  Tensor q, k, v, mask;
  double scale;
  Tensor scores() const {
    Tensor s = matmul(q, k.transpose(-2, -1)) * scale;
    return mask.defined() ? s + mask : s;
  }
  Tensor weights() const { return aten<"_safe_softmax">(scores(), -1); }  // rows in which nothing takes part are zero
};
Fused fused_inputs(DType high, const Tensor& q, const Tensor& k, const Tensor& v, const Value& is_causal, const Value& mask,
                   const Value& scale) {
  INGOT_REQUIRE(q.dim() == 4 && k.dim() == 4 && v.dim() == 4,
                "scaled_dot_product_attention_flash_attention: Accept only 4 dims inputs shape of {B, H, T, K}");
  INGOT_REQUIRE(!is_causal.to_bool() || mask.is_none(),
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
  Fused f{q.to(high), k.to(high), v.to(high), {}, scale_of(q, scale)};
  if (is_causal.to_bool()) f.mask = causal_mask(q.size(2), k.size(2), high, q.device());
  else if (mask.is_tensor()) f.mask = mask.tensor().to(high);
  return f;
}
// (query, key, value, dropout_p, is_causal, attn_mask, scale) -> (output, logsumexp)
Value fused(const Call& c) {
  INGOT_REQUIRE(c[3].to_double() == 0, "_scaled_dot_product_flash_attention_for_cpu: Currently do not support dropout > 0");
  const DType dtype = c.tensor(0).dtype(), sums = dtype == DType::f64 ? DType::f64 : DType::f32;
  const Fused f = fused_inputs(sums, c.tensor(0), c.tensor(1), c.tensor(2), c[4], c[5], c[6]);
  const Tensor lse = aten<"logsumexp">(f.scores(), Shape{-1}).to(sums);
  return TensorList{laid_out_as(c.tensor(0), matmul(f.weights(), f.v).to(dtype)), heads_inside(lse)};
}
// (grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, attn_mask, scale) ->
// gradients of query, key, value. Output and logsumexp are rounded: the weights are computed anew
// from the inputs instead. In double: where gradients cancel (a bias of the keys has none) float
// would leave noise that an optimizer which divides by the gradient's size makes visible.
Value fused_backward(const Call& c) {
  const Fused f = fused_inputs(DType::f64, c.tensor(1), c.tensor(2), c.tensor(3), c[7], c[8], c[9]);
  const DType dtype = c.tensor(1).dtype();
  const Tensor grad = c.tensor(0).to(f.q.dtype()), p = f.weights(), through = matmul(grad, f.v.transpose(-2, -1));
  const Tensor scores = (through - aten<"sum.dim_IntList">(through * p, Shape{-1}, true)) * p * f.scale;
  return TensorList{heads_inside(matmul(scores, f.k).to(dtype)), heads_inside(matmul(scores.transpose(-2, -1), f.q).to(dtype)),
                    heads_inside(matmul(p.transpose(-2, -1), grad).to(dtype))};
}
void fused_vjp(Vjp& v) {
  if (!v.grad().defined()) return;
  const TensorList g = atens<"_scaled_dot_product_flash_attention_for_cpu_backward">(
      v.grad(), v.saved(0), v.saved(1), v.saved(2), v.result(0), v.result(1), v.arg(3), v.arg(4), v.saved(5), v.arg(6));
  for (int i = 0; i < 3; i++)
    if (v.need(i)) v.set(i, g[static_cast<std::size_t>(i)]);
}

constexpr OpDef kOps[] = {
    {.schema =
         "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool "
         "is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
     .form = Form::composite,
     .body = attention,
     .autocast = Autocast::lower_precision},
    {.schema =
         "aten::_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool "
         "is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, bool enable_gqa=False) -> (Tensor, Tensor)",
     .form = Form::composite,
     .body = attention_math},
    {.schema =
         "aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool is_causal=False, *, "
         "Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)",
     .body = fused,
     .vjp = fused_vjp,
     .saves = {{0}, {1}, {2}, {5}, {kResult}, {kResult - 1}},
     .grad = {.refuses = 0b100000,  // the mask: attention() takes the other way for one that requires grad
              .results = 1}},
    {.schema =
         "aten::_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor "
         "logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor grad_query, Tensor grad_key, "
         "Tensor grad_value)",
     .body = fused_backward},
};

}  // namespace

INGOT_FAMILY(attention, kOps)

}  // namespace ingot
