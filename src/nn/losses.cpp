#include "ingot/nn/losses.hpp"

#include <cmath>
#include <numbers>

#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"

namespace ingot::nn {
namespace {
int64_t code(Reduction r) { return static_cast<int64_t>(r); }
constexpr int64_t kNoIgnoredIndex = -100;
Tensor reduced(const Tensor& losses, Reduction r) {
  return r == Reduction::none ? losses : r == Reduction::mean ? losses.mean() : losses.sum();
}
}  // namespace

// ---- functions

Tensor mse_loss(const Tensor& x, const Tensor& y, Reduction r) { return aten<"mse_loss">(x, y, code(r)); }
Tensor l1_loss(const Tensor& x, const Tensor& y, Reduction r) { return aten<"l1_loss">(x, y, code(r)); }
Tensor smooth_l1_loss(const Tensor& x, const Tensor& y, double beta, Reduction r) {
  return aten<"smooth_l1_loss">(x, y, code(r), beta);
}
Tensor huber_loss(const Tensor& x, const Tensor& y, double delta, Reduction r) {
  return aten<"huber_loss">(x, y, code(r), delta);
}
Tensor cross_entropy(const Tensor& x, const Tensor& y, Reduction r, double smoothing) {
  return aten<"cross_entropy_loss">(x, y, Value(), code(r), kNoIgnoredIndex, smoothing);
}
Tensor nll_loss(const Tensor& x, const Tensor& y, Reduction r) { return aten<"nll_loss_nd">(x, y, Value(), code(r)); }
Tensor binary_cross_entropy(const Tensor& x, const Tensor& y, Reduction r) {
  return aten<"binary_cross_entropy">(x, y, Value(), code(r));
}
Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& y, Reduction r) {
  return aten<"binary_cross_entropy_with_logits">(x, y, Value(), Value(), code(r));
}
Tensor kl_div(const Tensor& x, const Tensor& y, Reduction r) { return aten<"kl_div">(x, y, code(r)); }

Tensor gaussian_nll_loss(const Tensor& x, const Tensor& y, const Tensor& variance, bool full, double eps, Reduction r) {
  // One variance for a row of the input is given without its last dim, or with it of size one.
  const Tensor given = variance.dim() + 1 == x.dim() ? variance.unsqueeze(-1) : variance;
  const Tensor var = given.clone();
  {
    const NoGrad no_grad;  // what is too small counts as eps, with the gradient of what was given
    aten_value<"clamp_">(var, eps);
  }
  const Tensor d = x - y;
  Tensor losses = (log(var) + d * d / var) * 0.5;
  if (full) losses = losses + std::log(2 * std::numbers::pi) / 2;
  return reduced(losses, r);
}

Tensor multilabel_soft_margin_loss(const Tensor& x, const Tensor& y, const Tensor& weight, Reduction r) {
  Tensor losses = (y * aten<"log_sigmoid">(x) + (1 - y) * aten<"log_sigmoid">(x.neg())).neg();
  if (weight.defined()) losses = losses * weight;
  return reduced(losses.sum({-1}) / Scalar(x.size(-1)), r);
}

// ---- modules

Tensor MSELoss::forward(const Tensor& x, const Tensor& y) { return mse_loss(x, y, o_.reduction); }
Tensor L1Loss::forward(const Tensor& x, const Tensor& y) { return l1_loss(x, y, o_.reduction); }
Tensor SoftMarginLoss::forward(const Tensor& x, const Tensor& y) { return aten<"soft_margin_loss">(x, y, code(o_.reduction)); }
Tensor MultiLabelMarginLoss::forward(const Tensor& x, const Tensor& y) {
  return aten<"multilabel_margin_loss">(x, y, code(o_.reduction));
}
Tensor SmoothL1Loss::forward(const Tensor& x, const Tensor& y) { return smooth_l1_loss(x, y, o_.beta, o_.reduction); }
Tensor HuberLoss::forward(const Tensor& x, const Tensor& y) { return huber_loss(x, y, o_.delta, o_.reduction); }
Tensor KLDivLoss::forward(const Tensor& x, const Tensor& y) {
  const Tensor loss = aten<"kl_div">(x, y, code(o_.batchmean ? Reduction::sum : o_.reduction), o_.log_target);
  return o_.batchmean && x.dim() > 0 ? loss / Scalar(x.size(0)) : loss;
}
Tensor PoissonNLLLoss::forward(const Tensor& x, const Tensor& y) {
  return aten<"poisson_nll_loss">(x, y, o_.log_input, o_.full, o_.eps, code(o_.reduction));
}
Tensor HingeEmbeddingLoss::forward(const Tensor& x, const Tensor& y) {
  return aten<"hinge_embedding_loss">(x, y, o_.margin, code(o_.reduction));
}

CrossEntropyLoss::CrossEntropyLoss(CrossEntropyLossOptions o) : o_(std::move(o)) { add_buffer("weight", weight, o_.weight); }
Tensor CrossEntropyLoss::forward(const Tensor& x, const Tensor& y) {
  return aten<"cross_entropy_loss">(x, y, weight, code(o_.reduction), o_.ignore_index, o_.label_smoothing);
}
NLLLoss::NLLLoss(NLLLossOptions o) : o_(std::move(o)) { add_buffer("weight", weight, o_.weight); }
Tensor NLLLoss::forward(const Tensor& x, const Tensor& y) {
  return aten<"nll_loss_nd">(x, y, weight, code(o_.reduction), o_.ignore_index);
}
BCELoss::BCELoss(BCELossOptions o) : o_(std::move(o)) { add_buffer("weight", weight, o_.weight); }
Tensor BCELoss::forward(const Tensor& x, const Tensor& y) {
  return aten<"binary_cross_entropy">(x, y, weight, code(o_.reduction));
}
MultiLabelSoftMarginLoss::MultiLabelSoftMarginLoss(MultiLabelSoftMarginLossOptions o) : o_(std::move(o)) {
  add_buffer("weight", weight, o_.weight);
}
Tensor MultiLabelSoftMarginLoss::forward(const Tensor& x, const Tensor& y) {
  return multilabel_soft_margin_loss(x, y, weight, o_.reduction);
}
MultiMarginLoss::MultiMarginLoss(MultiMarginLossOptions o) : o_(std::move(o)) {
  INGOT_REQUIRE(o_.p == 1 || o_.p == 2, "only p == 1 and p == 2 supported, found ", o_.p);
  add_buffer("weight", weight, o_.weight);
}
Tensor MultiMarginLoss::forward(const Tensor& x, const Tensor& y) {
  return aten<"multi_margin_loss">(x, y, o_.p, o_.margin, weight, code(o_.reduction));
}
BCEWithLogitsLoss::BCEWithLogitsLoss(BCEWithLogitsLossOptions o) : reduction_(o.reduction) {
  add_buffer("weight", weight, o.weight);
  add_buffer("pos_weight", pos_weight, o.pos_weight);
}
Tensor BCEWithLogitsLoss::forward(const Tensor& x, const Tensor& y) {
  return aten<"binary_cross_entropy_with_logits">(x, y, weight, pos_weight, code(reduction_));
}

Tensor GaussianNLLLoss::forward(const Tensor& a, const Tensor& b, const Tensor& c) {
  return gaussian_nll_loss(a, b, c, o_.full, o_.eps, o_.reduction);
}
Tensor MarginRankingLoss::forward(const Tensor& a, const Tensor& b, const Tensor& c) {
  return aten<"margin_ranking_loss">(a, b, c, o_.margin, code(o_.reduction));
}
Tensor CosineEmbeddingLoss::forward(const Tensor& a, const Tensor& b, const Tensor& c) {
  return aten<"cosine_embedding_loss">(a, b, c, o_.margin, code(o_.reduction));
}
Tensor TripletMarginLoss::forward(const Tensor& a, const Tensor& b, const Tensor& c) {
  return aten<"triplet_margin_loss">(a, b, c, o_.margin, o_.p, o_.eps, o_.swap, code(o_.reduction));
}
Tensor TripletMarginWithDistanceLoss::forward(const Tensor& anchor, const Tensor& positive, const Tensor& negative) {
  const auto distance = [&](const Tensor& a, const Tensor& b) {
    return o_.distance_function ? o_.distance_function(a, b) : aten<"pairwise_distance">(a, b);
  };
  const Tensor near = distance(anchor, positive);
  Tensor far = distance(anchor, negative);
  if (o_.swap) far = minimum(far, distance(positive, negative));
  return reduced(clamp(near - far + o_.margin, 0), o_.reduction);
}

Tensor CTCLoss::operator()(const Tensor& log_probs, const Tensor& targets, const Tensor& inputs, const Tensor& lengths) const {
  return aten<"ctc_loss.Tensor">(log_probs, targets, inputs, lengths, o_.blank, code(o_.reduction), o_.zero_infinity);
}
Tensor CTCLoss::operator()(const Tensor& log_probs, const Tensor& targets, const Shape& inputs, const Shape& lengths) const {
  return aten<"ctc_loss.IntList">(log_probs, targets, inputs, lengths, o_.blank, code(o_.reduction), o_.zero_infinity);
}

}  // namespace ingot::nn
