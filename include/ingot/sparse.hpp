// Sparse tensors in coordinate form: elements, or rows, at some places, and zero everywhere else.
// They are what the gradient of an embedding's weight is with sparse = true, as large as the batch
// and not as the table:
//
//   nn::EmbeddingBag bag(1'000'000, 64, "sum", true);
//   bag(indices, offsets).sum().backward();
//   bag.weight.grad();                                   // is_sparse: the rows that the batch looked up
//   weight.add_(bag.weight.grad(), -0.1);                // touches those rows alone; so does optim::SGD
//
// Sums of them, products with numbers, conversions and copies run; any other op refuses, and takes
// to_dense(t) instead.
#pragma once
#include "ingot/tensor.hpp"

namespace ingot {

// Element, or row, values[k] at the place indices[:, k]: `indices` is [sparse dims, n], `values`
// [n, dense dims…], and `size` all of them. A place may be given several times: its values add up.
// User error for indices outside of `size`.
Tensor sparse_coo_tensor(const Tensor& indices, const Tensor& values, const Shape& size);
bool is_sparse(const Tensor& t);

// What a sparse tensor was made of, or became.
Tensor sparse_indices(const Tensor& t);
Tensor sparse_values(const Tensor& t);
// The same tensor with each place once, in order.
Tensor coalesce(const Tensor& t);
// The same elements in a dense tensor; a dense tensor is itself.
Tensor to_dense(const Tensor& t);

}  // namespace ingot
