// All op families, in the order of ops/families.list.
#pragma once
#include <vector>

#include "ops/family.hpp"

namespace ingot {

std::vector<Family> op_families();

}  // namespace ingot
