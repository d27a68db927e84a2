// What the rules of convolution share (conv.cpp, lower.cpp). This folder's own.
#pragma once
#include "op/op.hpp"

namespace ingot {

struct Lowering;

// The arguments that convolution and its gradient share, every list as long as there are dims of
// space.
struct ConvolutionParams {
  int space;
  Shape stride, padding, dilation, output_padding;
  bool transposed;
  Int groups;
};
// `at`: where stride stands; the others follow in schema order. User error for what no convolution
// has.
ConvolutionParams convolution_params(const Call& c, const Tensor& input, const Tensor& weight, int at);

void convolution_lower(Lowering& l);

}  // namespace ingot
