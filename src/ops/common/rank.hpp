// The number of dims as what counts dims has it.
#pragma once
#include "ingot/tensor.hpp"

namespace ingot {

inline int rank(const Tensor& t) { return static_cast<int>(t.dim()); }

}  // namespace ingot
