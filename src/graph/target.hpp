// What a node calls, as exported programs and listings name it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "op/op.hpp"

namespace ingot {

// The op of such a target (target_of); null where there is none.
const Op* find_target(std::string_view target);

inline constexpr std::string_view kGradModeTarget = "torch._C._set_grad_enabled";

// What stands around a function that a program maps over members (graph/vmap_region.hpp).
enum class VmapCall : uint8_t {
  prepare,   // says nothing of the program
  begin,     // the number of members, and what random numbers are to them
  argument,  // of the function: a tensor, the dim of its members, the level
  result,    // a tensor of the function, the level, the number of members, the dim they are stacked along
  end,
};
// None for any other target.
std::optional<VmapCall> find_vmap_call(std::string_view target);

// Whether a node of some kind other than NodeKind::unsupported calls this.
bool is_known_target(std::string_view target);

}  // namespace ingot
