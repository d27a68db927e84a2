// Assertions about how a tensor looks.
#pragma once
#include "op/op.hpp"

namespace ingot {

// _assert_tensor_metadata: in a program that is compiled it comes apart into conditions over sizes,
// so that no element is computed for it.
bool asserts_metadata(const Op& op);

}  // namespace ingot
