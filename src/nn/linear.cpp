#include "ingot/nn/linear.hpp"

#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "nn/initial.hpp"
#include "op/call.hpp"

namespace ingot::nn {

Linear::Linear(int64_t in, int64_t out, bool with_bias) {
  add_parameter("weight", weight, uniform({out, in}, inverse_sqrt(in)));
  add_parameter("bias", bias, with_bias ? uniform({out}, inverse_sqrt(in)) : Tensor());
}
Tensor Linear::forward(const Tensor& x) { return linear(x, weight, bias); }

Bilinear::Bilinear(int64_t in1, int64_t in2, int64_t out, bool with_bias) {
  add_parameter("weight", weight, uniform({out, in1, in2}, inverse_sqrt(in1)));
  add_parameter("bias", bias, with_bias ? uniform({out}, inverse_sqrt(in1)) : Tensor());
}
Tensor Bilinear::operator()(const Tensor& a, const Tensor& b) { return aten<"bilinear">(a, b, weight, bias); }

Tensor Unflatten::forward(const Tensor& x) { return aten<"unflatten.int">(x, dim_, sizes_); }

// ---- look-up

// The rows of `weight` that `indices` name, if longer, are shortened in place.
static void shorten_rows(const Tensor& weight, const Tensor& indices, double norm_type, double max_norm) {
  const NoGrad no_grad;
  const Tensor at = indices.reshape({-1}), rows = index_select(weight.detach(), 0, at);
  aten_value<"index_copy_">(weight, 0, at, aten<"renorm">(rows, norm_type, 0, max_norm));
}

Embedding::Embedding(int64_t entries, int64_t dim, std::optional<int64_t> padding_idx, bool sparse, EmbeddingOptions o)
    : padding_idx_(!padding_idx       ? -1
                   : *padding_idx < 0 ? entries + *padding_idx
                                      : *padding_idx),
      sparse_(sparse), o_(o) {
  add_parameter("weight", weight, randn({entries, dim}));
  if (padding_idx) {
    NoGrad no_grad;
    weight[padding_idx_].zero_();
  }
}
Tensor Embedding::forward(const Tensor& indices) {
  if (o_.max_norm) shorten_rows(weight, indices, o_.norm_type, *o_.max_norm);
  return aten<"embedding">(weight, indices, padding_idx_, o_.scale_grad_by_freq, sparse_);
}

EmbeddingBag::EmbeddingBag(int64_t entries, int64_t dim, const std::string& mode, bool sparse, EmbeddingBagOptions o)
    : mode_(mode == "sum"    ? 0
            : mode == "mean" ? 1
                             : 2),
      sparse_(sparse), o_(o) {
  INGOT_REQUIRE(mode == "sum" || mode == "mean" || mode == "max", "EmbeddingBag: mode must be sum, mean or max, found ", mode);
  add_parameter("weight", weight, randn({entries, dim}));
  if (!o.padding_idx) return;
  NoGrad no_grad;
  if (*o.padding_idx < 0) *o_.padding_idx += entries;
  weight[*o_.padding_idx].zero_();
}
Tensor EmbeddingBag::operator()(const Tensor& indices, const Tensor& offsets, const Tensor& per_sample_weights) {
  Tensor flat = indices, at = offsets, weights = per_sample_weights;
  INGOT_REQUIRE(!weights.defined() || mode_ == 0,
                "embedding_bag: per_sample_weights was not None. per_sample_weights is only "
                "supported for mode='sum'");
  if (indices.dim() == 2) {
    INGOT_REQUIRE(!offsets.defined(),
                  "if input is 2D, then offsets has to be None, as input is treated as a mini-batch of fixed length sequences");
    flat = indices.reshape({-1});
    at = arange(0, indices.numel(), indices.size(1));
    if (weights.defined()) weights = weights.reshape({-1});
  }
  INGOT_REQUIRE(at.defined(), "offsets has to be a 1D Tensor but got None");
  if (o_.max_norm) shorten_rows(weight, flat, o_.norm_type, *o_.max_norm);
  if (!o_.padding_idx)
    return atens<"embedding_bag">(weight, flat, at, o_.scale_grad_by_freq, mode_, sparse_, weights, o_.include_last_offset)[0];
  return atens<"embedding_bag.padding_idx">(weight, flat, at, o_.scale_grad_by_freq, mode_, sparse_, weights,
                                            o_.include_last_offset, *o_.padding_idx)[0];
}

// ---- distances

Tensor CosineSimilarity::operator()(const Tensor& a, const Tensor& b) const {
  return aten<"cosine_similarity">(a, b, dim_, eps_);
}
Tensor PairwiseDistance::operator()(const Tensor& a, const Tensor& b) const {
  return aten<"pairwise_distance">(a, b, p_, eps_, keepdim_);
}

}  // namespace ingot::nn
