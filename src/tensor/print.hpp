// The text of a tensor as PyTorch prints it: torch.set_printoptions' defaults, aligned columns,
// "..." in the middle of big tensors, dtype and size where the elements do not tell them.
#pragma once
#include <span>
#include <string>

#include "ingot/tensor.hpp"

namespace ingot {

struct PrintOptions {
  int precision = 4;          // digits after the point
  int64_t threshold = 1000;   // more elements than this are summarised
  int64_t edge_items = 3;     // shown at each end of a summarised dim
  int64_t line_width = 80;
};

// `suffixes` are said after the dtype: what a layer above knows of the tensor
// ("requires_grad=True"). A float tensor of `default_dtype` is printed without its dtype. A fake
// tensor prints its size in place of elements.
std::string tensor_text(const Tensor& t, DType default_dtype = DType::f32, std::span<const std::string> suffixes = {},
                        const PrintOptions& options = {});

}  // namespace ingot
