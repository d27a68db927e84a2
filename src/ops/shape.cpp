#include "ops/families.hpp"

namespace ingot {

Family shape_family() { return {}; }

}  // namespace ingot
