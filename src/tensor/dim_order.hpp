// The order in which the dims of a tensor lie: TensorIterator's.
#pragma once
#include <vector>

#include "ingot/shape.hpp"

namespace ingot {

// The dims from the innermost on, in the order of the first operand that tells two of them apart.
// Each operand's strides are those over `sizes`, 0 where it repeats. Asks nothing about a size
// unless strides are equal.
std::vector<int> inner_first(const Shape& sizes, const std::vector<Shape>& strides);

}  // namespace ingot
