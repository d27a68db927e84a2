// Masks, and sizes and places that only the data decides.
#pragma once
#include <string_view>

#include "ingot/tensor.hpp"

namespace ingot {

// An index that says of each element whether it is meant.
inline bool is_mask(const Tensor& t) { return t.dtype() == DType::b8 || t.dtype() == DType::u8; }

// How many elements are not zero. Of a tensor without bytes: a fresh symbol of the thread's guard
// environment, or a user error that says so.
Int nonzero_count(const Tensor& t, std::string_view op);
// A result size in [least, most] that a shape rule cannot know, as above.
Int data_dependent_size(std::string_view op, Int most, int64_t least = 0);

// One int64 tensor a dim: the coordinates of the non-zero elements in row-major order (without
// bytes if t has none).
TensorList nonzero_columns(const Tensor& t, std::string_view op);

}  // namespace ingot
