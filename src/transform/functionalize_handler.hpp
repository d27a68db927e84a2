// The functionalize layer of `call`.
#pragma once
#include "op/call.hpp"

namespace ingot {

Value functionalize_handler(const Op& op, Args args);

}  // namespace ingot
