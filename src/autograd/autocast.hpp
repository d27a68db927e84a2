// The autocast layer: casts floating arguments by the policy that stands on the op. On while a
// thread is in an AutocastGuard (ingot/ingot.hpp).
#pragma once
#include "op/call.hpp"

namespace ingot {

Value autocast_handler(const Op& op, Args args);
// The arguments as the op's policy wants them.
Values autocast_arguments(const Op& op, Args args);

}  // namespace ingot
