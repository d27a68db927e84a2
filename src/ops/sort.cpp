#include "ops/families.hpp"

namespace ingot {

Family sort_family() { return {}; }

}  // namespace ingot
