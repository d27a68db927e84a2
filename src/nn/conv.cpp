#include "ingot/nn/conv.hpp"

#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "nn/initial.hpp"
#include "op/call.hpp"

namespace ingot::nn {

Shape Dims::of(int dims) const {
  if (values_.dim() == dims) return values_;
  INGOT_REQUIRE(values_.dim() == 1, "expected 1 or ", dims, " values, found ", values_);
  return Shape::filled(static_cast<std::size_t>(dims), values_[0]);
}

ConvPadding::ConvPadding(const std::string& name) : Dims(0), same_(name == "same") {
  INGOT_REQUIRE(name == "same" || name == "valid", "Invalid padding string '", name, "', should be one of 'valid', 'same'");
}

Convolution::Convolution(int dims, bool transposed, int64_t in, int64_t out, const Dims& kernel, ConvOptions o)
    : dims_(dims), transposed_(transposed), kernel_(kernel.of(dims)), stride_(o.stride.of(dims)), padding_(o.padding.of(dims)),
      dilation_(o.dilation.of(dims)), output_padding_(o.output_padding.of(dims)), o_(std::move(o)) {
  INGOT_REQUIRE(o_.groups > 0 && in % o_.groups == 0 && out % o_.groups == 0, "convolution: ", in, " input and ", out,
                " output channels must be divisible by groups = ", o_.groups);
  const std::string& mode = o_.padding_mode;
  INGOT_REQUIRE(mode == "zeros" || mode == "reflect" || mode == "replicate" || mode == "circular",
                "padding_mode must be one of zeros, reflect, replicate, circular, but got padding_mode='", mode, "'");
  INGOT_REQUIRE(!transposed || (mode == "zeros" && !o_.padding.is_same()),
                "Only \"zeros\" padding mode, and sizes of it, are supported for a transposed convolution");
  INGOT_REQUIRE(!o_.padding.is_same() || stride_ == Shape::filled(static_cast<std::size_t>(dims), 1),
                "padding='same' is not supported for strided convolutions");
  Shape size = transposed ? Shape{in, out / o_.groups} : Shape{out, in / o_.groups};
  for (Int x : kernel_) size.push_back(x);
  const double bound = inverse_sqrt(size.sub(1, size.size()).product().value());
  add_parameter("weight", weight, uniform(size, bound));
  add_parameter("bias", bias, o_.bias ? uniform({out}, bound) : Tensor());
}

Tensor Convolution::forward(const Tensor& given) {
  const int64_t groups = o_.groups;
  if (transposed_) {
    if (dims_ == 1) return aten<"conv_transpose1d">(given, weight, bias, stride_, padding_, output_padding_, groups, dilation_);
    if (dims_ == 2)
      return aten<"conv_transpose2d.input">(given, weight, bias, stride_, padding_, output_padding_, groups, dilation_);
    return aten<"conv_transpose3d.input">(given, weight, bias, stride_, padding_, output_padding_, groups, dilation_);
  }
  Tensor x = given;
  Shape padding = padding_;
  if (o_.padding_mode != "zeros") {
    Shape around;  // the last dim's first
    for (std::size_t d = kernel_.size(); d-- > 0;) {
      const Int both = o_.padding.is_same() ? dilation_[d] * (kernel_[d] - 1) : padding_[d] * 2;
      around.push_back(floor_div(both, 2));
      around.push_back(both - floor_div(both, 2));
    }
    x = aten<"pad">(x, around, o_.padding_mode);
    padding = Shape::filled(kernel_.size(), 0);
  } else if (o_.padding.is_same()) {
    if (dims_ == 1) return aten<"conv1d.padding">(x, weight, bias, stride_, "same", dilation_, groups);
    if (dims_ == 2) return aten<"conv2d.padding">(x, weight, bias, stride_, "same", dilation_, groups);
    return aten<"conv3d.padding">(x, weight, bias, stride_, "same", dilation_, groups);
  }
  if (dims_ == 1) return aten<"conv1d">(x, weight, bias, stride_, padding, dilation_, groups);
  if (dims_ == 2) return aten<"conv2d">(x, weight, bias, stride_, padding, dilation_, groups);
  return aten<"conv3d">(x, weight, bias, stride_, padding, dilation_, groups);
}

Tensor Unfold::forward(const Tensor& x) {
  return aten<"im2col">(x, kernel_.of(2), o_.dilation.of(2), o_.padding.of(2), o_.stride.of(2));
}
Tensor Fold::forward(const Tensor& x) {
  return aten<"col2im">(x, output_.of(2), kernel_.of(2), o_.dilation.of(2), o_.padding.of(2), o_.stride.of(2));
}

}  // namespace ingot::nn
