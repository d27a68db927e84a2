// What stands around a function that a program maps over members (graph/vmap_region.hpp).
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "op/schema.hpp"

namespace ingot {

enum class VmapCall : uint8_t {
  prepare,   // says nothing of the program
  begin,     // the number of members, and what random numbers are to them
  argument,  // of the function: a tensor, the dim of its members, the level
  result,    // a tensor of the function, the level, the number of members, the dim they are stacked along
  end,
};

// As listings and exported programs write it: "torch._functorch.predispatch._add_batch_dim"
std::string_view target_of(VmapCall c);
// The last part, which names the node: "_add_batch_dim"
std::string_view name_of(VmapCall c);
// None for any other target.
std::optional<VmapCall> find_vmap_call(std::string_view target);
// What it takes, and whether it makes a tensor.
const Schema& schema_of(VmapCall c);

}  // namespace ingot
