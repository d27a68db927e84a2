// Reading the elements of a tensor as another type.
#pragma once
#include "ingot/tensor.hpp"

namespace ingot {

// t where it has a contiguous tensor's strides and starts where its storage does, else a copy that
// has. A contiguous tensor need not: the stride of a dimension of size 1 says nothing. Types of
// other sizes ask that strides and offset are whole numbers of elements all the same.
Tensor ready_to_reinterpret(const Tensor& t);

}  // namespace ingot
