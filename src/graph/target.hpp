// What a node calls, as exported programs and listings name it.
#pragma once
#include <string_view>

#include "op/op.hpp"

namespace ingot {

// The op of such a target (target_of); null where there is none.
const Op* find_target(std::string_view target);

inline constexpr std::string_view kGradModeTarget = "torch._C._set_grad_enabled";

// Whether a node of some kind other than NodeKind::unsupported calls this.
bool is_known_target(std::string_view target);

}  // namespace ingot
