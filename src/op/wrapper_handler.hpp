// The wrapper layer of `call`.
#pragma once
#include "op/call.hpp"

namespace ingot {

Value wrapper_handler(const Op& op, Args args);

}  // namespace ingot
