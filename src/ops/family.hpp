// The last line of a file of ops, INGOT_FAMILY(name, kNameOps): its array of constant definitions
// is a family, which ops/families.list names.
#pragma once
#include <span>

#include "op/op.hpp"

namespace ingot {

using Family = std::span<const OpDef>;

}  // namespace ingot

#ifndef INGOT_FAMILY  // In what models are linked with every op is a variable of its own (eager/archive.hpp).
#define INGOT_FAMILY(name, ops) \
  Family name##_family() { return ops; }
#endif
