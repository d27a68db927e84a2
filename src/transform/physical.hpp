// Batched tensors as the tape sees them: one physical tensor with the batches of all levels as leading dims, outermost
// level first.
#pragma once
#include "transform/batched.hpp"

namespace ingot {

// The physical tensor behind a batched one; any other tensor is its own.
Tensor physical(const Tensor& t);
// `p` with the levels of `like`, whose physical tensor has the same leading dims.
Tensor with_physical(const Tensor& like, const Tensor& p);

// t as a tensor of every vmap that runs: where it was not batched, each member gets the same values. What a function does to it is
// then told apart for every member, which a gradient with respect to it needs.
Tensor batched_at_every_level(const Tensor& t);

// A gradient for the physical tensor of `of`: its batches are leading dims where `of` is batched, expanded where the gradient is not, and
// stay batches where it alone is batched (a vmap over gradients).
Tensor physical_gradient(const Tensor& gradient, const Tensor& of);
// The other way: a gradient of the physical tensor of `of`, batched as `of` is and where it is itself.
Tensor batched_gradient(const Tensor& gradient, const Tensor& of);

}  // namespace ingot
