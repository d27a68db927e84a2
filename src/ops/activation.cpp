#include "ops/families.hpp"

namespace ingot {

Family activation_family() { return {}; }

}  // namespace ingot
