#include "ingot/nn/activation.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"

namespace ingot::nn {

Tensor ReLU::forward(const Tensor& x) { return relu(x); }
Tensor ReLU6::forward(const Tensor& x) { return aten<"relu6">(x); }
Tensor SELU::forward(const Tensor& x) { return aten<"selu">(x); }
Tensor SiLU::forward(const Tensor& x) { return silu(x); }
Tensor Mish::forward(const Tensor& x) { return aten<"mish">(x); }
Tensor Sigmoid::forward(const Tensor& x) { return sigmoid(x); }
Tensor LogSigmoid::forward(const Tensor& x) { return aten<"log_sigmoid">(x); }
Tensor Hardsigmoid::forward(const Tensor& x) { return aten<"hardsigmoid">(x); }
Tensor Hardswish::forward(const Tensor& x) { return aten<"hardswish">(x); }
Tensor Tanh::forward(const Tensor& x) { return tanh(x); }
Tensor Tanhshrink::forward(const Tensor& x) { return x - tanh(x); }
Tensor Softsign::forward(const Tensor& x) { return x / (abs(x) + 1); }
Tensor Softmax2d::forward(const Tensor& x) {
  INGOT_REQUIRE(x.dim() == 3 || x.dim() == 4, "Softmax2d: expected input to be 3D or 4D, got ", x.dim(), "D instead");
  return softmax(x, -3);
}
Tensor CELU::forward(const Tensor& x) { return aten<"celu">(x, alpha_); }
Tensor ELU::forward(const Tensor& x) { return elu(x, alpha_); }
Tensor LeakyReLU::forward(const Tensor& x) { return leaky_relu(x, slope_); }
Tensor Hardshrink::forward(const Tensor& x) { return aten<"hardshrink">(x, lambd_); }
Tensor Softshrink::forward(const Tensor& x) { return aten<"softshrink">(x, lambd_); }
Tensor GELU::forward(const Tensor& x) { return gelu(x, approximate_); }
Tensor GLU::forward(const Tensor& x) { return aten<"glu">(x, dim_); }
Tensor Softmax::forward(const Tensor& x) { return softmax(x, dim_); }
Tensor Softmin::forward(const Tensor& x) { return softmax(x.neg(), dim_); }
Tensor LogSoftmax::forward(const Tensor& x) { return log_softmax(x, dim_); }
Tensor Softplus::forward(const Tensor& x) { return softplus(x, beta_, threshold_); }
Tensor Hardtanh::forward(const Tensor& x) { return aten<"hardtanh">(x, min_val_, max_val_); }
Tensor Threshold::forward(const Tensor& x) { return aten<"threshold">(x, threshold_, value_); }
Tensor RReLU::forward(const Tensor& x) { return aten<"rrelu">(x, lower_, upper_, is_training()); }

PReLU::PReLU(int64_t num_parameters, double init) { add_parameter("weight", weight, full({num_parameters}, init)); }
Tensor PReLU::forward(const Tensor& x) { return aten<"prelu">(x, weight); }

// ---- dropout

DropoutBase::DropoutBase(double p) : p_(p) {
  INGOT_REQUIRE(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
}
Tensor Dropout::forward(const Tensor& x) { return dropout(x, p_, is_training()); }

// Whole channels of a batch; of one image where `dims` are a batch's.
static Tensor drop_channels(const Tensor& x, int dims, double p, bool training) {
  const bool is_one = x.dim() == dims - 1;
  const Tensor y = aten<"feature_dropout">(is_one ? x.unsqueeze(0) : x, p, training);
  return is_one ? y.squeeze(0) : y;
}
Tensor Dropout1d::forward(const Tensor& x) {
  INGOT_REQUIRE(x.dim() == 2 || x.dim() == 3, "dropout1d: Expected 2D or 3D input, but received a ", x.dim(), "D input.");
  return drop_channels(x, 3, p_, is_training());
}
Tensor Dropout2d::forward(const Tensor& x) {
  return aten<"feature_dropout">(x, p_, is_training());
}  // 3D is [N, C, L], as PyTorch has it
Tensor Dropout3d::forward(const Tensor& x) { return drop_channels(x, 5, p_, is_training()); }
Tensor AlphaDropout::forward(const Tensor& x) { return aten<"alpha_dropout">(x, p_, is_training()); }
Tensor FeatureAlphaDropout::forward(const Tensor& x) { return aten<"feature_alpha_dropout">(x, p_, is_training()); }

// ---- adaptive softmax

AdaptiveLogSoftmaxWithLoss::AdaptiveLogSoftmaxWithLoss(int64_t in, int64_t classes, std::vector<int64_t> cutoffs,
                                                       double div_value, bool head_bias)
    : cutoffs_(std::move(cutoffs)),
      head_(in, cutoffs_.empty() ? 1 : cutoffs_[0] + static_cast<int64_t>(cutoffs_.size()), head_bias) {
  INGOT_REQUIRE(
      !cutoffs_.empty() && cutoffs_[0] > 0 && std::ranges::is_sorted(cutoffs_, std::less_equal()) && cutoffs_.back() < classes,
      "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is "
      "between 1 and n_classes-1");
  cutoffs_.push_back(classes);
  add("head", head_);
  for (std::size_t i = 0; i + 1 < cutoffs_.size(); i++) {
    const auto hidden = static_cast<int64_t>(static_cast<double>(in) / std::pow(div_value, static_cast<double>(i + 1)));
    const int64_t size = cutoffs_[i + 1] - cutoffs_[i];
    tail_.append(std::make_shared<Sequential>(
        std::initializer_list<std::shared_ptr<Layer>>{make<Linear>(in, hidden, false), make<Linear>(hidden, size, false)}));
  }
  add("tail", tail_);
}

AdaptiveLogSoftmaxWithLoss::Output AdaptiveLogSoftmaxWithLoss::operator()(const Tensor& given, const Tensor& given_target) {
  const bool is_batch = given_target.dim() > 0;
  const Tensor x = is_batch ? given : given.unsqueeze(0), target = is_batch ? given_target : given_target.unsqueeze(0);
  INGOT_REQUIRE(x.dim() == 2 && target.dim() == 1 && x.size(0) == target.size(0),
                "expected inputs of [batch, features] and a target for each, found ", given.sizes(), " and ",
                given_target.sizes());
  // Of each cluster, what the rows that are in it have.
  Tensor output = zeros({x.size(0)}, {.dtype = x.dtype()}), in_head = target.clone();
  for (std::size_t i = 0; i < tail_.size(); i++) {
    const Tensor is_here = aten<"logical_and">(target >= Scalar(cutoffs_[i]), target < Scalar(cutoffs_[i + 1]));
    const Tensor rows = aten<"nonzero">(is_here).squeeze(1);
    if (rows.numel() == 0) continue;
    const Tensor of_cluster = log_softmax(tail_[i](index_select(x, 0, rows)), 1);
    const Tensor local = (index_select(target, 0, rows) - Scalar(cutoffs_[i])).unsqueeze(1);
    output = aten<"index_copy">(output, 0, rows, gather(of_cluster, 1, local).squeeze(1));
    in_head = masked_fill(in_head, is_here, shortlist() + static_cast<int64_t>(i));
  }
  output = output + gather(log_softmax(head_(x), 1), 1, in_head.unsqueeze(1)).squeeze(1);
  return {is_batch ? output : output.squeeze(0), output.neg().mean()};
}

Tensor AdaptiveLogSoftmaxWithLoss::log_prob_by(const Tensor& x, const Tensor& head) const {
  const Tensor of_head = log_softmax(head, 1);
  TensorList parts = {of_head.narrow(1, 0, shortlist())};
  for (std::size_t i = 0; i < tail_.size(); i++)
    parts.push_back(log_softmax(tail_[i](x), 1) + of_head.narrow(1, shortlist() + static_cast<int64_t>(i), 1));
  return cat(parts, 1);
}
Tensor AdaptiveLogSoftmaxWithLoss::log_prob(const Tensor& x) { return log_prob_by(x, head_(x)); }
Tensor AdaptiveLogSoftmaxWithLoss::predict(const Tensor& x) { return log_prob(x).argmax(1); }

}  // namespace ingot::nn
