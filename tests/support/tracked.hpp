#pragma once
#include "ingot/tensor.hpp"

namespace ingot {

// The tensor, asking for its gradient from now on.
inline Tensor tracked(const Tensor& t) { return Tensor(t).requires_grad_(); }

}  // namespace ingot
