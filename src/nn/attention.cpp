#include <cmath>

#include "base/error.hpp"
#include "ingot/nn.hpp"
#include "op/call.hpp"

namespace ingot::nn {

MultiheadAttention::MultiheadAttention(int64_t embed_dim, int64_t num_heads, double dropout, bool bias, bool batch_first)
    : out_proj(embed_dim, embed_dim, bias), embed_(embed_dim), heads_(num_heads), dropout_(dropout), batch_first_(batch_first) {
  INGOT_REQUIRE(num_heads > 0 && embed_dim % num_heads == 0, "embed_dim must be divisible by num_heads, found ", embed_dim,
                " and ", num_heads);
  NoGrad no_grad;
  const double bound = std::sqrt(6.0 / static_cast<double>(4 * embed_dim));  // Xavier over [3·embed, embed]
  add_parameter("in_proj_weight", in_proj_weight, rand({3 * embed_dim, embed_dim}) * (2 * bound) - bound);
  add_parameter("in_proj_bias", in_proj_bias, bias ? zeros({3 * embed_dim}) : Tensor());
  add("out_proj", out_proj);
  if (bias) out_proj.bias.zero_();
}

Tensor MultiheadAttention::operator()(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                                      bool is_causal) {
  INGOT_REQUIRE(query.dim() == 3 && key.dim() == 3 && value.dim() == 3,
                "MultiheadAttention: query, key and value must be 3D, found ", query.dim(), "D, ", key.dim(), "D and ",
                value.dim(), "D");
  auto batch_major = [&](const Tensor& t) { return batch_first_ ? t : t.transpose(0, 1); };
  const Tensor inputs[] = {batch_major(query), batch_major(key), batch_major(value)};
  const Int batch = inputs[0].size(0);
  const int64_t head = embed_ / heads_;
  Tensor qkv[3];
  for (int i = 0; i < 3; i++) {
    const Tensor w = in_proj_weight.narrow(0, i * embed_, embed_);
    const Tensor b = in_proj_bias.defined() ? in_proj_bias.narrow(0, i * embed_, embed_) : Tensor();
    qkv[i] = linear(inputs[i], w, b).view({batch, inputs[i].size(1), heads_, head}).transpose(1, 2);
  }
  Tensor m = is_causal ? Tensor() : mask;
  if (m.defined()) {
    if (m.dtype() == boolean) m = aten<"logical_not">(m);  // PyTorch's modules mark what is hidden, the op what is seen
    if (m.dim() == 3) m = m.view({batch, heads_, m.size(1), m.size(2)});
  }
  Tensor y = aten<"scaled_dot_product_attention">(qkv[0], qkv[1], qkv[2], m, is_training() ? dropout_ : 0.0, is_causal);
  y = out_proj(y.transpose(1, 2).reshape({batch, inputs[0].size(1), embed_}));
  return batch_first_ ? y : y.transpose(0, 1);
}

TransformerEncoderLayer::TransformerEncoderLayer(int64_t d, int64_t heads, TransformerOptions o)
    : self_attn(d, heads, o.dropout, true, o.batch_first), linear1(d, o.dim_feedforward), linear2(o.dim_feedforward, d),
      norm1({d}), norm2({d}), dropout_(o.dropout), dropout1_(o.dropout), dropout2_(o.dropout), o_(o) {
  add("self_attn", self_attn);
  add("linear1", linear1);
  add("dropout", dropout_);
  add("linear2", linear2);
  add("norm1", norm1);
  add("norm2", norm2);
  add("dropout1", dropout1_);
  add("dropout2", dropout2_);
}

Tensor TransformerEncoderLayer::operator()(const Tensor& x, const Tensor& mask, bool is_causal) {
  auto attend = [&](const Tensor& t) { return dropout1_(self_attn(t, t, t, mask, is_causal)); };
  auto feed_forward = [&](const Tensor& t) {
    const Tensor h = linear1(t);
    return dropout2_(linear2(dropout_(o_.gelu ? gelu(h) : relu(h))));
  };
  if (o_.norm_first) {
    const Tensor y = x + attend(norm1(x));
    return y + feed_forward(norm2(y));
  }
  const Tensor y = norm1(x + attend(x));
  return norm2(y + feed_forward(y));
}

}  // namespace ingot::nn
