#include "ops/families.hpp"

namespace ingot {

Family norm_family() { return {}; }

}  // namespace ingot
