// Eager matrix products, shared by the op families that need one.
#pragma once
#include "tensor/impl.hpp"

namespace ingot {

// result[b] = alpha * a[b] @ c[b] + beta * result0[b], for [batch, rows, cols] tensors of one dtype
// that may be strided in any way. `addend` (undefined: none) is broadcast to the result. Sums in
// float or wider; the result is rounded once.
// `loop_if_small`: a batch of small matrices is multiplied by a plain loop that rounds every
// product and every sum, as in PyTorch, instead of the blocked kernel, which fuses them.
void batched_product(const Tensor& result, const Tensor& a, const Tensor& b, const Scalar& alpha = 1, const Tensor& addend = {},
                     const Scalar& beta = 0, bool loop_if_small = false);

}  // namespace ingot
