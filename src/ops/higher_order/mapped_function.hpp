// vmap for the functions of higher-order ops.
#pragma once
#include <vector>

#include "ingot/value.hpp"

namespace ingot {

// A function of single members as one of batches: for each level, outermost first, it says which
// operands have the batch of that level in front; the results, tensors or None, have those of all
// levels. What else the function uses is the same for every member.
Value mapped_function(const Value& f, std::vector<std::vector<bool>> levels);

}  // namespace ingot
