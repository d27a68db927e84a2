#pragma once
#include <span>

#include "autograd/node.hpp"
#include "ingot/autograd.hpp"
#include "op/op.hpp"

namespace ingot {

// custom_function of ingot/autograd.hpp, of tensors that the tape knows.
TensorList record_custom_function(std::string name, const TensorList& inputs, const ForwardFunction& forward,
                                  BackwardFunction backward);

// Whether the node is that of a function with a backward of its own (custom_function of
// ingot/autograd.hpp).
bool is_custom_function(const GradNode& n);

// For every tensor that the node of such a function saved: SavedTensor::accept_version.
void accept_version(GradNode& n, const Storage& storage, uint32_t before);

// The op that a program which was recorded calls such a function by.
std::span<const OpDef> custom_function_ops();

// In the backward of such a function, which has what it saved: the node lets go of it now, and not
// when the backward is done, unless the graph is kept.
void release_saved_early(FunctionContext& c);

}  // namespace ingot
