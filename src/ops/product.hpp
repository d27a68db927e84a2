// Eager matrix products, shared by the op families that need one.
#pragma once
#include "tensor/impl.hpp"

namespace ingot {

// result[b] = alpha * a[b] @ c[b] + beta * result0[b], for [batch, rows, cols] tensors of one dtype that may be strided in any
// way. `addend` (undefined: none) is broadcast to the result. Sums in float or wider; the result is rounded once.
void batched_product(const Tensor& result, const Tensor& a, const Tensor& b, const Scalar& alpha = 1, const Tensor& addend = {},
                     const Scalar& beta = 0);

}  // namespace ingot
