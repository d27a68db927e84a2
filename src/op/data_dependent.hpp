// Ops whose result, or whose size of a result, is known to those alone who have the elements.
#pragma once
#include "op/op.hpp"

namespace ingot {

// ATen's table says so.
bool depends_on_data(const Op& op);

}  // namespace ingot
