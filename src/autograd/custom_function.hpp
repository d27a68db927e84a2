#pragma once
#include "autograd/node.hpp"

namespace ingot {

// Whether the node is that of a function with a backward of its own (custom_function of ingot/autograd.hpp).
bool is_custom_function(const GradNode& n);

}  // namespace ingot
