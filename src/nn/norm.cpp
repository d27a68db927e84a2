#include "ingot/nn/norm.hpp"

#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"

namespace ingot::nn {

ChannelNorm::ChannelNorm(int64_t n, double eps, std::optional<double> momentum, bool affine, bool track)
    : eps_(eps), momentum_(momentum) {
  add_parameter("weight", weight, affine ? ones({n}) : Tensor());
  add_parameter("bias", bias, affine ? zeros({n}) : Tensor());
  add_buffer("running_mean", running_mean, track ? zeros({n}) : Tensor());
  add_buffer("running_var", running_var, track ? ones({n}) : Tensor());
  add_buffer("num_batches_tracked", num_batches_tracked, track ? zeros({}, {.dtype = int64}) : Tensor());
}
// A variance of one value says nothing. `values` is what each mean is taken over.
static void check_more_than_one(const Int& values, const Tensor& x) {
  INGOT_REQUIRE(!(values == 1), "Expected more than 1 value per channel when training, got input size ", x.sizes());
}

Tensor BatchNorm::forward(const Tensor& x) {
  check(x);
  const bool by_batch = is_training() || !running_mean.defined();
  if (by_batch) check_more_than_one(x.size(0) * x.sizes().sub(2, x.sizes().size()).product(), x);
  if (is_training() && num_batches_tracked.defined()) num_batches_tracked.add_(Scalar(1));
  const double momentum = momentum_                                        ? *momentum_
                          : is_training() && num_batches_tracked.defined() ? 1 / num_batches_tracked.item_double()
                                                                           : 0;
  return aten<"batch_norm">(x, weight, bias, running_mean, running_var, by_batch, momentum, eps_, false);
}
void BatchNorm1d::check(const Tensor& x) const {
  INGOT_REQUIRE(x.dim() == 2 || x.dim() == 3, "expected 2D or 3D input (got ", x.dim(), "D input)");
}
void BatchNorm2d::check(const Tensor& x) const { INGOT_REQUIRE(x.dim() == 4, "expected 4D input (got ", x.dim(), "D input)"); }
void BatchNorm3d::check(const Tensor& x) const { INGOT_REQUIRE(x.dim() == 5, "expected 5D input (got ", x.dim(), "D input)"); }

void InstanceNorm::check(const Tensor& x) const {
  INGOT_REQUIRE(x.dim() == dims() + 1 || x.dim() == dims() + 2, "expected ", dims() + 1, "D or ", dims() + 2, "D input (got ",
                x.dim(), "D input)");
}
Tensor InstanceNorm::forward(const Tensor& given) {
  check(given);
  const bool is_batch = given.dim() == dims() + 2, by_image = is_training() || !running_mean.defined();
  const Tensor x = is_batch ? given : given.unsqueeze(0);
  const Int values = x.sizes().sub(2, x.sizes().size()).product();
  INGOT_REQUIRE(!by_image || !(values == 1), "Expected more than 1 spatial element when training, got input size ", x.sizes());
  const Tensor y =
      aten<"instance_norm">(x, weight, bias, running_mean, running_var, by_image, momentum_.value_or(0), eps_, false);
  return is_batch ? y : y.squeeze(0);
}

LayerNorm::LayerNorm(Dims shape, double eps, bool affine, bool with_bias) : shape_(shape.values()), eps_(eps) {
  add_parameter("weight", weight, affine ? ones(shape_) : Tensor());
  add_parameter("bias", bias, affine && with_bias ? zeros(shape_) : Tensor());
}
Tensor LayerNorm::forward(const Tensor& x) { return layer_norm(x, shape_, weight, bias, eps_); }

GroupNorm::GroupNorm(int64_t groups, int64_t channels, double eps, bool affine) : groups_(groups), eps_(eps) {
  INGOT_REQUIRE(groups > 0 && channels % groups == 0, "num_channels must be divisible by num_groups, found ", channels, " and ",
                groups);
  add_parameter("weight", weight, affine ? ones({channels}) : Tensor());
  add_parameter("bias", bias, affine ? zeros({channels}) : Tensor());
}
Tensor GroupNorm::forward(const Tensor& x) {
  if (x.dim() >= 2)
    check_more_than_one(floor_div(x.size(0) * x.size(1), groups_) * x.sizes().sub(2, x.sizes().size()).product(), x);
  return aten<"group_norm">(x, groups_, weight, bias, eps_);
}

RMSNorm::RMSNorm(Dims shape, std::optional<double> eps, bool affine) : shape_(shape.values()), eps_(eps) {
  add_parameter("weight", weight, affine ? ones(shape_) : Tensor());
}
Tensor RMSNorm::forward(const Tensor& x) { return aten<"rms_norm">(x, shape_, weight, eps_); }

Tensor LocalResponseNorm::forward(const Tensor& x) {
  INGOT_REQUIRE(x.dim() >= 3, "Expected 3D or higher dimensionality input (got ", x.dim(), " dimensions)");
  if (x.numel() == 0) return x;
  // The mean of squares over neighbouring channels: a pool over one dim of an image.
  const Tensor squares = (x * x).reshape({x.size(0), 1, x.size(1), -1});
  const Tensor padded = aten<"constant_pad_nd">(squares, Shape{0, 0, size_ / 2, (size_ - 1) / 2}, 0);
  const Tensor means = aten<"avg_pool2d">(padded, Shape{size_, 1}, Shape{1}).reshape(x.sizes());
  return x / (means * alpha_ + k_).pow(beta_);
}

}  // namespace ingot::nn
