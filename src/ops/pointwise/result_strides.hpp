// The layout rule every elementwise result follows (TensorIterator's).
#pragma once
#include <vector>

#include "tensor/impl.hpp"

namespace ingot {

// Strides of a fresh result of `sizes` computed from these operands (each broadcastable to
// `sizes`).
Shape elementwise_strides(const Shape& sizes, const std::vector<Tensor>& tensors);

}  // namespace ingot
