#pragma once
#include "ingot/tensor.hpp"

namespace ingot {

// The parameters lose their gradients, or (set_to_none = false) keep them without history and
// filled with zeros.
void drop_gradients(const TensorList& parameters, bool set_to_none);

}  // namespace ingot
