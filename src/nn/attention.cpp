#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ingot/nn/attention.hpp"
#include "ingot/nn/init.hpp"
#include "nn/initial.hpp"
#include "op/call.hpp"

namespace ingot::nn {

MultiheadAttention::MultiheadAttention(int64_t embed_dim, int64_t num_heads, double dropout, bool bias, bool batch_first,
                                       AttentionOptions o)
    : out_proj(embed_dim, embed_dim, bias), embed_(embed_dim), heads_(num_heads), dropout_(dropout), batch_first_(batch_first),
      add_zero_attn_(o.add_zero_attn) {
  INGOT_REQUIRE(num_heads > 0 && embed_dim % num_heads == 0, "embed_dim must be divisible by num_heads, found ", embed_dim,
                " and ", num_heads);
  const auto xavier = [](int64_t out, int64_t in) { return uniform({out, in}, std::sqrt(6.0 / static_cast<double>(in + out))); };
  const int64_t kdim = o.kdim.value_or(embed_dim), vdim = o.vdim.value_or(embed_dim);
  if (kdim == embed_dim && vdim == embed_dim) {
    add_parameter("in_proj_weight", in_proj_weight, xavier(3 * embed_dim, embed_dim));
  } else {
    add_parameter("q_proj_weight", q_proj_weight, xavier(embed_dim, embed_dim));
    add_parameter("k_proj_weight", k_proj_weight, xavier(embed_dim, kdim));
    add_parameter("v_proj_weight", v_proj_weight, xavier(embed_dim, vdim));
  }
  add_parameter("in_proj_bias", in_proj_bias, bias ? zeros({3 * embed_dim}) : Tensor());
  for (const auto& [name, member] : {std::pair{"bias_k", &bias_k}, {"bias_v", &bias_v}})
    add_parameter(name, *member, o.add_bias_kv ? init::xavier_normal_(zeros({1, 1, embed_dim})) : Tensor());
  add("out_proj", out_proj);
  NoGrad no_grad;
  if (bias) out_proj.bias.zero_();
}

// Queries, keys and values [batch, heads, length, features], and what a mask of them adds or, of
// bools, lets through, as the op takes it.
struct MultiheadAttention::Heads {
  Tensor q, k, v, mask;
};

// What is added to the scores: -inf where a mask of bools hides.
static Tensor additive(const Tensor& mask, DType dtype) {
  if (mask.dtype() != boolean) return mask;
  return masked_fill(zeros(mask.sizes(), {.dtype = dtype}), mask, -std::numeric_limits<double>::infinity());
}

MultiheadAttention::Heads MultiheadAttention::heads(const Tensor& query, const Tensor& key, const Tensor& value,
                                                    const Tensor& mask, const Tensor& padding) const {
  INGOT_REQUIRE(query.dim() == 3 && key.dim() == 3 && value.dim() == 3,
                "MultiheadAttention: query, key and value must be 3D, found ", query.dim(), "D, ", key.dim(), "D and ",
                value.dim(), "D");
  auto batch_major = [&](const Tensor& t) { return batch_first_ ? t : t.transpose(0, 1); };
  const Tensor inputs[] = {batch_major(query), batch_major(key), batch_major(value)};
  const Tensor* const own_weights[] = {&q_proj_weight, &k_proj_weight, &v_proj_weight};
  const Int batch = inputs[0].size(0);
  const int64_t head = embed_ / heads_;
  Tensor qkv[3];
  for (int i = 0; i < 3; i++) {
    const Tensor w = in_proj_weight.defined() ? in_proj_weight.narrow(0, i * embed_, embed_) : *own_weights[i];
    const Tensor b = in_proj_bias.defined() ? in_proj_bias.narrow(0, i * embed_, embed_) : Tensor();
    Tensor projected = linear(inputs[i], w, b);
    if (const Tensor& last = i == 1 ? bias_k : bias_v; i > 0 && last.defined())
      projected = cat({projected, last.expand({batch, 1, embed_})}, 1);
    if (i > 0 && add_zero_attn_) projected = cat({projected, zeros({batch, 1, embed_}, {.dtype = projected.dtype()})}, 1);
    qkv[i] = projected.view({batch, projected.size(1), heads_, head}).transpose(1, 2);
  }
  const Int added = qkv[1].size(2) - inputs[1].size(1);
  const auto extended = [&](const Tensor& m) { return added == 0 ? m : aten<"constant_pad_nd">(m, Shape{0, added}, 0); };
  Tensor m = mask;
  if (m.defined() && m.dim() == 3) m = m.view({batch, heads_, m.size(1), m.size(2)});
  if (padding.defined()) {
    const Tensor hidden = extended(additive(padding, query.dtype())).view({batch, 1, 1, -1});
    m = m.defined() ? extended(additive(m, query.dtype())) + hidden : hidden;
  } else if (m.defined()) {
    m = extended(m);
    if (m.dtype() == boolean) m = aten<"logical_not">(m);  // PyTorch's modules mark what is hidden, the op what is seen
  }
  return {qkv[0], qkv[1], qkv[2], m};
}

// Of all heads' results [batch, heads, length, features].
Tensor MultiheadAttention::joined(const Tensor& y) {
  const Tensor r = out_proj(y.transpose(1, 2).reshape({y.size(0), y.size(2), embed_}));
  return batch_first_ ? r : r.transpose(0, 1);
}

Tensor MultiheadAttention::operator()(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                                      bool is_causal, const Tensor& key_padding_mask) {
  // Beside a mask of keys, or with keys at the end, the op's own causal mask is not the one meant.
  const bool by_op = is_causal && !key_padding_mask.defined() && !bias_k.defined() && !add_zero_attn_;
  Tensor m = by_op ? Tensor() : mask;
  if (is_causal && !by_op && !mask.defined())
    m = triu(ones({query.size(batch_first_ ? 1 : 0), key.size(batch_first_ ? 1 : 0)}), 1).to(boolean);
  const Heads h = heads(query, key, value, m, key_padding_mask);
  return joined(aten<"scaled_dot_product_attention">(h.q, h.k, h.v, h.mask, is_training() ? dropout_ : 0.0, by_op));
}

MultiheadAttention::Output MultiheadAttention::with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                                            const Tensor& mask, const Tensor& key_padding_mask,
                                                            bool average_weights) {
  const Heads h = heads(query, key, value, mask, key_padding_mask);
  Tensor scores = (h.q * std::sqrt(static_cast<double>(heads_) / static_cast<double>(embed_))).matmul(h.k.transpose(-2, -1));
  if (h.mask.defined())
    scores = scores + (h.mask.dtype() == boolean ? additive(aten<"logical_not">(h.mask), scores.dtype()) : h.mask);
  Tensor weights = softmax(scores, -1);
  if (is_training() && dropout_ > 0) weights = dropout(weights, dropout_, true);
  return {joined(weights.matmul(h.v)), average_weights ? weights.mean({1}) : weights};
}

}  // namespace ingot::nn
