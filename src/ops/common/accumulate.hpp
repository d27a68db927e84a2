// Elementwise sums into strided memory, for backward kernels whose windows overlap.
#pragma once
#include "tensor/impl.hpp"

namespace ingot {

// dst[...] += src[...], of one shape and dtype. No two elements of dst may share an address; dst
// and src must not overlap.
void add_elements(const Tensor& dst, const Tensor& src);

}  // namespace ingot
