#include <cmath>

#include "base/error.hpp"
#include "ingot/nn.hpp"
#include "op/call.hpp"

namespace ingot::nn {
namespace {

// Uniform in [-bound, bound): what PyTorch's default initialisation comes to.
Tensor uniform(const Shape& size, double bound) {
  NoGrad no_grad;
  return rand(size) * (2 * bound) - bound;
}
double inverse_sqrt(int64_t fan_in) { return fan_in > 0 ? 1 / std::sqrt(static_cast<double>(fan_in)) : 0; }
// One value for every spatial dim, or one each.
Shape per_dim(const Shape& s, int dims) {
  if (s.dim() == dims) return s;
  INGOT_REQUIRE(s.dim() == 1, "expected 1 or ", dims, " values, found ", s);
  return Shape::filled(static_cast<std::size_t>(dims), s[0]);
}

}  // namespace

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

Convolution::Convolution(int dims, bool transposed, int64_t in, int64_t out, const Shape& kernel, ConvOptions o)
    : dims_(dims), transposed_(transposed), o_(std::move(o)) {
  const Shape k = per_dim(kernel, dims);
  INGOT_REQUIRE(o_.groups > 0 && in % o_.groups == 0 && out % o_.groups == 0, "convolution: ", in, " input and ", out,
                " output channels must be divisible by groups = ", o_.groups);
  Shape size = transposed ? Shape{in, out / o_.groups} : Shape{out, in / o_.groups};
  for (Int x : k) size.push_back(x);
  const double bound = inverse_sqrt(size.sub(1, size.size()).product().value());
  add_parameter("weight", weight, uniform(size, bound));
  add_parameter("bias", bias, o_.bias ? uniform({out}, bound) : Tensor());
}
Tensor Convolution::forward(const Tensor& x) {
  const Shape stride = per_dim(o_.stride, dims_), padding = per_dim(o_.padding, dims_), dilation = per_dim(o_.dilation, dims_),
              output_padding = per_dim(o_.output_padding, dims_);
  if (transposed_ && dims_ == 1)
    return aten<"conv_transpose1d">(x, weight, bias, stride, padding, output_padding, o_.groups, dilation);
  if (transposed_) return aten<"conv_transpose2d.input">(x, weight, bias, stride, padding, output_padding, o_.groups, dilation);
  if (dims_ == 1) return aten<"conv1d">(x, weight, bias, stride, padding, dilation, o_.groups);
  if (dims_ == 2) return aten<"conv2d">(x, weight, bias, stride, padding, dilation, o_.groups);
  return aten<"conv3d">(x, weight, bias, stride, padding, dilation, o_.groups);
}

BatchNorm::BatchNorm(int64_t n, double eps, std::optional<double> momentum, bool affine, bool track)
    : eps_(eps), momentum_(momentum) {
  add_parameter("weight", weight, affine ? ones({n}) : Tensor());
  add_parameter("bias", bias, affine ? zeros({n}) : Tensor());
  add_buffer("running_mean", running_mean, track ? zeros({n}) : Tensor());
  add_buffer("running_var", running_var, track ? ones({n}) : Tensor());
  add_buffer("num_batches_tracked", num_batches_tracked, track ? zeros({}, {.dtype = int64}) : Tensor());
}
// A variance of one value says nothing. `values` is what each mean is taken over.
void check_more_than_one(const Int& values, const Tensor& x) {
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

LayerNorm::LayerNorm(Shape shape, double eps, bool affine) : shape_(std::move(shape)), eps_(eps) {
  add_parameter("weight", weight, affine ? ones(shape_) : Tensor());
  add_parameter("bias", bias, affine ? zeros(shape_) : Tensor());
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

RMSNorm::RMSNorm(Shape shape, std::optional<double> eps, bool affine) : shape_(std::move(shape)), eps_(eps) {
  add_parameter("weight", weight, affine ? ones(shape_) : Tensor());
}
Tensor RMSNorm::forward(const Tensor& x) { return aten<"rms_norm">(x, shape_, weight, eps_); }

Embedding::Embedding(int64_t entries, int64_t dim, std::optional<int64_t> padding_idx, bool sparse)
    : padding_idx_(!padding_idx       ? -1
                   : *padding_idx < 0 ? entries + *padding_idx
                                      : *padding_idx),
      sparse_(sparse) {
  add_parameter("weight", weight, randn({entries, dim}));
  if (padding_idx) {
    NoGrad no_grad;
    weight[padding_idx_].zero_();
  }
}
Tensor Embedding::forward(const Tensor& indices) { return aten<"embedding">(weight, indices, padding_idx_, false, sparse_); }

EmbeddingBag::EmbeddingBag(int64_t entries, int64_t dim, const std::string& mode, bool sparse)
    : mode_(mode == "sum"    ? 0
            : mode == "mean" ? 1
                             : 2),
      sparse_(sparse) {
  INGOT_REQUIRE(mode == "sum" || mode == "mean" || mode == "max", "EmbeddingBag: mode must be sum, mean or max, found ", mode);
  add_parameter("weight", weight, randn({entries, dim}));
}
Tensor EmbeddingBag::operator()(const Tensor& indices, const Tensor& offsets) {
  Tensor flat = indices, at = offsets;
  if (indices.dim() == 2) {
    INGOT_REQUIRE(!offsets.defined(),
                  "if input is 2D, then offsets has to be None, as input is treated as a mini-batch of fixed length sequences");
    flat = indices.reshape({-1});
    at = arange(0, indices.numel(), indices.size(1));
  }
  INGOT_REQUIRE(at.defined(), "offsets has to be a 1D Tensor but got None");
  return atens<"embedding_bag">(weight, flat, at, false, mode_, sparse_)[0];
}

#define POOL(Name, op, ...) \
  Tensor Name::forward(const Tensor& x) { return aten<op>(x, kernel_, stride_, padding_ __VA_OPT__(, ) __VA_ARGS__); }
POOL(MaxPool1d, "max_pool1d")
POOL(MaxPool2d, "max_pool2d")
POOL(MaxPool3d, "max_pool3d")
POOL(AvgPool1d, "avg_pool1d")
POOL(AvgPool2d, "avg_pool2d")
POOL(AvgPool3d, "avg_pool3d")
#undef POOL
Tensor AdaptiveAvgPool2d::forward(const Tensor& x) { return aten<"adaptive_avg_pool2d">(x, per_dim(output_, 2)); }
Tensor AdaptiveMaxPool2d::forward(const Tensor& x) { return atens<"adaptive_max_pool2d">(x, per_dim(output_, 2))[0]; }
Dropout::Dropout(double p) : p_(p) {
  INGOT_REQUIRE(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
}
Tensor Dropout::forward(const Tensor& x) { return dropout(x, p_, is_training()); }
Tensor Hardsigmoid::forward(const Tensor& x) { return aten<"hardsigmoid">(x); }
Tensor Hardswish::forward(const Tensor& x) { return aten<"hardswish">(x); }

}  // namespace ingot::nn
