// Gradients before an optimizer uses them, and parameters as one vector.
#pragma once
#include "ingot/tensor.hpp"

namespace ingot::nn {

// The norm of all gradients together, as of one vector; of order `norm_type`, which may be
// infinity. Without gradients it is 0. With `error_if_nonfinite` a user error where it is no
// number.
Tensor get_total_norm(const TensorList& tensors, double norm_type = 2, bool error_if_nonfinite = false);
// Scales the gradients of the parameters so that their norm is at most `max_norm`; returns what it
// was.
Tensor clip_grad_norm_(const TensorList& parameters, double max_norm, double norm_type = 2, bool error_if_nonfinite = false);
// Each element of a gradient into [-clip_value, clip_value].
void clip_grad_value_(const TensorList& parameters, double clip_value);

Tensor parameters_to_vector(const TensorList& parameters);
void vector_to_parameters(const Tensor& vector, const TensorList& parameters);

}  // namespace ingot::nn
