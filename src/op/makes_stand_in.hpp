#pragma once
#include "op/op.hpp"

namespace ingot {

// A view in PyTorch that is computed here (tensor/stand_in.hpp): a formula whose result is its
// argument's, as the schema says.
inline bool makes_stand_in(const Op& op) {
  return op.form() == Form::pointwise && op.variant == Variant::functional && !op.mutates() && op.aliases();
}

}  // namespace ingot
