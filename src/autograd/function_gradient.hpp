// The gradient of a function that a higher-order op was given.
#pragma once
#include <vector>

#include "ingot/value.hpp"

namespace ingot {

// UpperLayers::gradient_function.
Value gradient_function(const Value& f, std::vector<bool> wanted);

}  // namespace ingot
