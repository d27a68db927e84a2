// Attention, and transformers made of it.
#pragma once
#include <optional>

#include "ingot/nn/activation.hpp"
#include "ingot/nn/linear.hpp"
#include "ingot/nn/norm.hpp"

namespace ingot::nn {

struct AttentionOptions {
  bool add_bias_kv = false, add_zero_attn = false;  // a learned key and value, and zeros, at the end
  std::optional<int64_t> kdim = {}, vdim = {};      // features of keys and values; without them: embed_dim
};
class MultiheadAttention : public Module {
 public:
  MultiheadAttention(int64_t embed_dim, int64_t num_heads, double dropout = 0, bool bias = true, bool batch_first = false,
                     AttentionOptions o = {});
  // `mask`: true (or -inf) where attention is not allowed, [target, source] or [batch*heads,
  // target, source]. `is_causal` says that no position looks ahead; a mask beside it is taken to
  // say the same. `key_padding_mask`: [batch, source], true for keys that nobody looks at.
  Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask = {}, bool is_causal = false,
                    const Tensor& key_padding_mask = {});
  struct Output {
    Tensor output, weights;  // weights [batch, target, source], or of each head [batch, heads, target, source]
  };
  Output with_weights(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask = {},
                      const Tensor& key_padding_mask = {}, bool average_weights = true);
  Tensor in_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight, in_proj_bias, bias_k, bias_v;
  Linear out_proj;

 private:
  struct Heads;
  Heads heads(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask, const Tensor& padding) const;
  Tensor joined(const Tensor& y);
  int64_t embed_, heads_;
  double dropout_;
  bool batch_first_, add_zero_attn_;
};

struct TransformerOptions {
  int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  bool gelu = false, batch_first = false, norm_first = false;
  bool bias = true;
  double layer_norm_eps = 1e-5;
};
// Masks of a sequence, as of MultiheadAttention.
struct AttentionMask {
  Tensor mask = {}, key_padding_mask = {};
  bool is_causal = false;
};
class TransformerEncoderLayer : public Layer {
 public:
  TransformerEncoderLayer(int64_t d_model, int64_t nhead, TransformerOptions o = {});
  using Layer::operator();
  Tensor forward(const Tensor& x) override { return (*this)(x, {}, false); }
  Tensor operator()(const Tensor& x, const Tensor& mask, bool is_causal = false, const Tensor& key_padding_mask = {});

  MultiheadAttention self_attn;
  Linear linear1, linear2;
  LayerNorm norm1, norm2;

 private:
  Dropout dropout_, dropout1_, dropout2_;
  TransformerOptions o_;
};
class TransformerDecoderLayer : public Module {
 public:
  TransformerDecoderLayer(int64_t d_model, int64_t nhead, TransformerOptions o = {});
  Tensor operator()(const Tensor& target, const Tensor& memory, const AttentionMask& target_mask = {},
                    const AttentionMask& memory_mask = {});

  MultiheadAttention self_attn, multihead_attn;
  Linear linear1, linear2;
  LayerNorm norm1, norm2, norm3;

 private:
  Dropout dropout_, dropout1_, dropout2_, dropout3_;
  TransformerOptions o_;
};

// Layers one after the other, and a norm where asked. Each layer draws its own first weights, where
// PyTorch copies one layer's.
class TransformerEncoder : public Layer {
 public:
  TransformerEncoder(int64_t d_model, int64_t nhead, int64_t num_layers, TransformerOptions o = {}, bool final_norm = false);
  Tensor forward(const Tensor& x) override { return (*this)(x, AttentionMask()); }
  using Layer::operator();
  Tensor operator()(const Tensor& x, const AttentionMask& mask);

  ModuleList<TransformerEncoderLayer> layers;

 private:
  std::optional<LayerNorm> norm_;
};
class TransformerDecoder : public Module {
 public:
  TransformerDecoder(int64_t d_model, int64_t nhead, int64_t num_layers, TransformerOptions o = {}, bool final_norm = false);
  Tensor operator()(const Tensor& target, const Tensor& memory, const AttentionMask& target_mask = {},
                    const AttentionMask& memory_mask = {});

  ModuleList<TransformerDecoderLayer> layers;

 private:
  std::optional<LayerNorm> norm_;
};
class Transformer : public Module {
 public:
  explicit Transformer(int64_t d_model = 512, int64_t nhead = 8, int64_t num_encoder_layers = 6, int64_t num_decoder_layers = 6,
                       TransformerOptions o = {});
  Tensor operator()(const Tensor& source, const Tensor& target, const AttentionMask& source_mask = {},
                    const AttentionMask& target_mask = {}, const AttentionMask& memory_mask = {});
  // -inf above the diagonal: no position looks ahead.
  static Tensor generate_square_subsequent_mask(int64_t size);

  TransformerEncoder encoder;
  TransformerDecoder decoder;
};

}  // namespace ingot::nn
