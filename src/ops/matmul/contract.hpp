// Products of two tensors summed over dims, by matrix products.
#pragma once
#include "tensor/impl.hpp"

namespace ingot {

// left * right summed over `sum_dims`, both of one rank with size 1 where a label is missing. Keeps
// the summed dims as 1.
Tensor contract_pair(Tensor left, Tensor right, const Shape& sum_dims);

}  // namespace ingot
