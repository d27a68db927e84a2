#pragma once
#include "autograd/node.hpp"

namespace ingot {

// Whether the node is that of a function with a backward of its own (custom_function of ingot/autograd.hpp).
bool is_custom_function(const GradNode& n);

// For every tensor that the node of such a function saved: SavedTensor::accept_version.
void accept_version(GradNode& n, const Storage& storage, uint32_t before);

}  // namespace ingot
