// Batched tensors as the tape sees them: one physical tensor with the batches of all levels as
// leading dims, outermost level first.
#pragma once
#include "transform/batched.hpp"

namespace ingot {

// The physical tensor behind a batched one; any other tensor is its own.
Tensor physical(const Tensor& t);
// `p` with the levels of `like`, whose physical tensor has the same leading dims.
Tensor with_physical(const Tensor& like, const Tensor& p);

// The batches of a tensor: the leading dims of its physical tensor, in order, and whose they are.
struct BatchDim {
  int level = 0;
  Int size;
};
using BatchDims = std::vector<BatchDim>;
BatchDims batch_dims(const Tensor& t);
bool has_level(const BatchDims& dims, int level);
BatchDims united(const BatchDims& a, const BatchDims& b);
// The tensor whose physical one is `p`.
Tensor with_dims(const Tensor& p, const BatchDims& dims);

// t as a tensor of these batches, which are at least its own: where it was not batched, each member
// gets the same values.
Tensor batched_at(const Tensor& t, const BatchDims& dims);
// The same for every vmap that runs. What a function does to it is then told apart for every
// member, which a gradient with respect to it needs.
Tensor batched_at_every_level(const Tensor& t);

// A gradient for the physical tensor of one with the batches `of`: they are its leading dims,
// expanded where the gradient is not batched, and what it alone is batched over (a vmap over
// gradients) stays a batch.
Tensor physical_gradient(const Tensor& gradient, const BatchDims& of);
// The other way: a gradient of such a physical tensor, batched by `of` and where it is itself.
Tensor batched_gradient(const Tensor& gradient, const BatchDims& of);
// The sum over the members of these batches. Where t is not batched all members are the same.
Tensor summed_over_members(const Tensor& t, const BatchDims& over);

}  // namespace ingot
