#include "ingot/nn/pooling.hpp"

#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"

namespace ingot::nn {

Tensor MaxPool::forward(const Tensor& x) {
  const Shape dilation = o_.dilation.of(dims());
  if (dims() == 1) return aten<"max_pool1d">(x, kernel(), stride(), padding(), dilation, o_.ceil_mode);
  if (dims() == 2) return aten<"max_pool2d">(x, kernel(), stride(), padding(), dilation, o_.ceil_mode);
  return aten<"max_pool3d">(x, kernel(), stride(), padding(), dilation, o_.ceil_mode);
}
std::pair<Tensor, Tensor> MaxPool::with_indices(const Tensor& x) {
  const Shape dilation = o_.dilation.of(dims());
  const TensorList r = dims() == 1   ? atens<"max_pool1d_with_indices">(x, kernel(), stride(), padding(), dilation, o_.ceil_mode)
                       : dims() == 2 ? atens<"max_pool2d_with_indices">(x, kernel(), stride(), padding(), dilation, o_.ceil_mode)
                                     : atens<"max_pool3d_with_indices">(x, kernel(), stride(), padding(), dilation, o_.ceil_mode);
  return {r[0], r[1]};
}

Tensor AvgPool::forward(const Tensor& x) {
  const auto& [ceil, pad, divisor] = o_;
  INGOT_REQUIRE(!divisor || dims() > 1, "AvgPool1d has no divisor_override");
  if (dims() == 1) return aten<"avg_pool1d">(x, kernel(), stride(), padding(), ceil, pad);
  if (dims() == 2) return aten<"avg_pool2d">(x, kernel(), stride(), padding(), ceil, pad, divisor);
  return aten<"avg_pool3d">(x, kernel(), stride(), padding(), ceil, pad, divisor);
}

Tensor LPPool::forward(const Tensor& x) {
  const Shape none = Shape::filled(static_cast<std::size_t>(dims()), 0);
  const Tensor powers = x.pow(norm_);
  const Tensor means = dims() == 1   ? aten<"avg_pool1d">(powers, kernel(), stride(), none, ceil_)
                       : dims() == 2 ? aten<"avg_pool2d">(powers, kernel(), stride(), none, ceil_)
                                     : aten<"avg_pool3d">(powers, kernel(), stride(), none, ceil_);
  return (sign(means) * relu(means.abs()) * Scalar(kernel().product())).pow(1 / norm_);
}

Tensor MaxUnpool::forward(const Tensor&) {
  INGOT_REQUIRE(false, "MaxUnpool needs the indices that MaxPool::with_indices gave: call it with them");
}
Tensor MaxUnpool::operator()(const Tensor& x, const Tensor& indices, const Shape& output_size) {
  const Shape k = kernel(), s = stride().empty() ? k : stride(), p = padding();
  Shape size = output_size;
  if (size.empty())
    for (std::size_t d = 0; d < k.size(); d++) {
      const Int in = x.size(static_cast<int64_t>(d) - dims());
      size.push_back((in - 1) * s[d] + k[d] - p[d] * 2);
    }
  INGOT_REQUIRE(size.dim() == dims(), "output_size should have ", dims(), " elements, but it has ", size.dim());
  if (dims() == 1) {
    size.push_back(1);
    return aten<"max_unpool2d">(x.unsqueeze(-1), indices.unsqueeze(-1), size).squeeze(-1);
  }
  if (dims() == 2) return aten<"max_unpool2d">(x, indices, size);
  return aten<"max_unpool3d">(x, indices, size, s, p);
}

std::pair<Tensor, Tensor> FractionalMaxPool::with_indices(const Tensor& x, const Tensor& given) {
  const auto n = static_cast<std::size_t>(dims());
  INGOT_REQUIRE(o_.output_size.empty() != o_.output_ratio.empty(),
                "FractionalMaxPool requires specifying either an output size, or a pooling ratio");
  INGOT_REQUIRE(o_.output_ratio.size() <= 1 || o_.output_ratio.size() == n, "output_ratio must have 1 or ", n, " numbers, found ",
                o_.output_ratio.size());
  Shape size;
  for (std::size_t d = 0; d < n; d++) {
    if (!o_.output_size.empty()) {
      size = o_.output_size.of(dims());
      break;
    }
    const double ratio = o_.output_ratio[o_.output_ratio.size() == 1 ? 0 : d];
    const int64_t in = x.size(static_cast<int64_t>(d) - dims()).value();
    size.push_back(static_cast<int64_t>(static_cast<double>(in) * ratio));
  }
  Tensor samples = given;
  if (!samples.defined())
    samples = rand({x.dim() == dims() + 1 ? Int(1) : x.size(0), x.size(-dims() - 1), dims()}, {.dtype = x.dtype()});
  const TensorList r = dims() == 2 ? atens<"fractional_max_pool2d">(x, kernel(), size, samples)
                                   : atens<"fractional_max_pool3d">(x, kernel(), size, samples);
  return {r[0], r[1]};
}

Shape AdaptivePool::output(const Tensor& x) const {
  Shape size = output_.of(dims());
  for (std::size_t d = 0; d < size.size(); d++)
    if (size[d] == -1) size[d] = x.size(static_cast<int64_t>(d) - dims());
  return size;
}
Tensor AdaptiveAvgPool::forward(const Tensor& x) {
  if (dims() == 1) return aten<"adaptive_avg_pool1d">(x, output(x));
  if (dims() == 2) return aten<"adaptive_avg_pool2d">(x, output(x));
  return aten<"adaptive_avg_pool3d">(x, output(x));
}
std::pair<Tensor, Tensor> AdaptiveMaxPool::with_indices(const Tensor& x) {
  const TensorList r = dims() == 1   ? atens<"adaptive_max_pool1d">(x, output(x))
                       : dims() == 2 ? atens<"adaptive_max_pool2d">(x, output(x))
                                     : atens<"adaptive_max_pool3d">(x, output(x));
  return {r[0], r[1]};
}

Tensor Pad::forward(const Tensor& x) {
  const Shape around = padding_.of(2 * dims());
  INGOT_REQUIRE(x.dim() == dims() + 1 || x.dim() == dims() + 2 || std::string(mode()) == "constant", "expected ", dims() + 1,
                "D or ", dims() + 2, "D input (got ", x.dim(), "D input)");
  if (std::string(mode()) == "constant") return aten<"pad">(x, around, "constant", value_);
  return aten<"pad">(x, around, mode());
}

}  // namespace ingot::nn
