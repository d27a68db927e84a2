#include "ops/families.hpp"

namespace ingot {

Family pool_family() { return {}; }

}  // namespace ingot
