// The layout rule every elementwise result follows (TensorIterator's).
#pragma once
#include <vector>

#include "tensor/impl.hpp"

namespace ingot {

// Strides of a fresh result of `sizes` computed from these operands (each broadcastable to `sizes`).
Shape elementwise_strides(const Shape& sizes, const std::vector<Tensor>& tensors);
// The general case: dims in the order of the first operand that tells two of them apart. Each operand's strides are those
// over `sizes`, 0 where it repeats. Asks nothing about a size unless strides are equal.
Shape strides_in_order_of(const Shape& sizes, const std::vector<Shape>& strides);

}  // namespace ingot
