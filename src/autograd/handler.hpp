// The autograd layer: records the tape, owns version counters and view records.
#pragma once
#include "op/call.hpp"

namespace ingot {

Value autograd_handler(const Op& op, Args args);

}  // namespace ingot
