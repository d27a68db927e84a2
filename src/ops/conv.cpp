#include "ops/families.hpp"

namespace ingot {

Family conv_family() { return {}; }

}  // namespace ingot
