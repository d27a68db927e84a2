#include "ops/families.hpp"

namespace ingot {

Family math_family() { return {}; }

}  // namespace ingot
