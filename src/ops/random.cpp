#include "ops/families.hpp"

namespace ingot {

Family random_family() { return {}; }

}  // namespace ingot
