#include <limits>

#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ingot/nn/attention.hpp"
#include "ingot/nn/init.hpp"

namespace ingot::nn {

static Tensor activated(const Tensor& x, const TransformerOptions& o) { return o.gelu ? gelu(x) : relu(x); }

TransformerEncoderLayer::TransformerEncoderLayer(int64_t d, int64_t heads, TransformerOptions o)
    : self_attn(d, heads, o.dropout, o.bias, o.batch_first), linear1(d, o.dim_feedforward, o.bias),
      linear2(o.dim_feedforward, d, o.bias), norm1(d, o.layer_norm_eps, true, o.bias), norm2(d, o.layer_norm_eps, true, o.bias),
      dropout_(o.dropout), dropout1_(o.dropout), dropout2_(o.dropout), o_(o) {
  add("self_attn", self_attn);
  add("linear1", linear1);
  add("dropout", dropout_);
  add("linear2", linear2);
  add("norm1", norm1);
  add("norm2", norm2);
  add("dropout1", dropout1_);
  add("dropout2", dropout2_);
}

Tensor TransformerEncoderLayer::operator()(const Tensor& x, const Tensor& mask, bool is_causal, const Tensor& padding) {
  auto attend = [&](const Tensor& t) { return dropout1_(self_attn(t, t, t, mask, is_causal, padding)); };
  auto feed_forward = [&](const Tensor& t) { return dropout2_(linear2(dropout_(activated(linear1(t), o_)))); };
  if (o_.norm_first) {
    const Tensor y = x + attend(norm1(x));
    return y + feed_forward(norm2(y));
  }
  const Tensor y = norm1(x + attend(x));
  return norm2(y + feed_forward(y));
}

TransformerDecoderLayer::TransformerDecoderLayer(int64_t d, int64_t heads, TransformerOptions o)
    : self_attn(d, heads, o.dropout, o.bias, o.batch_first), multihead_attn(d, heads, o.dropout, o.bias, o.batch_first),
      linear1(d, o.dim_feedforward, o.bias), linear2(o.dim_feedforward, d, o.bias), norm1(d, o.layer_norm_eps, true, o.bias),
      norm2(d, o.layer_norm_eps, true, o.bias), norm3(d, o.layer_norm_eps, true, o.bias), dropout_(o.dropout),
      dropout1_(o.dropout), dropout2_(o.dropout), dropout3_(o.dropout), o_(o) {
  add("self_attn", self_attn);
  add("multihead_attn", multihead_attn);
  add("linear1", linear1);
  add("dropout", dropout_);
  add("linear2", linear2);
  add("norm1", norm1);
  add("norm2", norm2);
  add("norm3", norm3);
  add("dropout1", dropout1_);
  add("dropout2", dropout2_);
  add("dropout3", dropout3_);
}

Tensor TransformerDecoderLayer::operator()(const Tensor& target, const Tensor& memory, const AttentionMask& own,
                                           const AttentionMask& of_memory) {
  const auto attend = [&](const Tensor& t) {
    return dropout1_(self_attn(t, t, t, own.mask, own.is_causal, own.key_padding_mask));
  };
  const auto look_up = [&](const Tensor& t) {
    return dropout2_(multihead_attn(t, memory, memory, of_memory.mask, of_memory.is_causal, of_memory.key_padding_mask));
  };
  const auto feed_forward = [&](const Tensor& t) { return dropout3_(linear2(dropout_(activated(linear1(t), o_)))); };
  Tensor x = target;
  if (o_.norm_first) {
    x = x + attend(norm1(x));
    x = x + look_up(norm2(x));
    return x + feed_forward(norm3(x));
  }
  x = norm1(x + attend(x));
  x = norm2(x + look_up(x));
  return norm3(x + feed_forward(x));
}

TransformerEncoder::TransformerEncoder(int64_t d, int64_t heads, int64_t num_layers, TransformerOptions o, bool final_norm) {
  for (int64_t i = 0; i < num_layers; i++) layers.append(std::make_shared<TransformerEncoderLayer>(d, heads, o));
  add("layers", layers);
  if (final_norm) add("norm", norm_.emplace(Dims(d), o.layer_norm_eps, true, o.bias));
}
Tensor TransformerEncoder::operator()(const Tensor& x, const AttentionMask& m) {
  Tensor y = x;
  for (const auto& layer : layers) y = (*layer)(y, m.mask, m.is_causal, m.key_padding_mask);
  return norm_ ? (*norm_)(y) : y;
}

TransformerDecoder::TransformerDecoder(int64_t d, int64_t heads, int64_t num_layers, TransformerOptions o, bool final_norm) {
  for (int64_t i = 0; i < num_layers; i++) layers.append(std::make_shared<TransformerDecoderLayer>(d, heads, o));
  add("layers", layers);
  if (final_norm) add("norm", norm_.emplace(Dims(d), o.layer_norm_eps, true, o.bias));
}
Tensor TransformerDecoder::operator()(const Tensor& target, const Tensor& memory, const AttentionMask& own,
                                      const AttentionMask& of_memory) {
  Tensor y = target;
  for (const auto& layer : layers) y = (*layer)(y, memory, own, of_memory);
  return norm_ ? (*norm_)(y) : y;
}

Transformer::Transformer(int64_t d, int64_t heads, int64_t encoder_layers, int64_t decoder_layers, TransformerOptions o)
    : encoder(d, heads, encoder_layers, o, true), decoder(d, heads, decoder_layers, o, true) {
  add("encoder", encoder);
  add("decoder", decoder);
  for (const Tensor& p : parameters())
    if (p.dim() > 1) init::xavier_uniform_(p);
}
Tensor Transformer::operator()(const Tensor& source, const Tensor& target, const AttentionMask& source_mask,
                               const AttentionMask& target_mask, const AttentionMask& memory_mask) {
  return decoder(target, encoder(source, source_mask), target_mask, memory_mask);
}
Tensor Transformer::generate_square_subsequent_mask(int64_t size) {
  return triu(full({size, size}, -std::numeric_limits<double>::infinity()), 1);
}

}  // namespace ingot::nn
