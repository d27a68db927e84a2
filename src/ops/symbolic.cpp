#include "ops/families.hpp"

namespace ingot {

Family symbolic_family() { return {}; }

}  // namespace ingot
