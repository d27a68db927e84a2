#include "ops/families.hpp"

namespace ingot {

Family reduce_family() { return {}; }

}  // namespace ingot
