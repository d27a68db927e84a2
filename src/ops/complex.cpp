#include "ops/families.hpp"

namespace ingot {

Family complex_family() { return {}; }

}  // namespace ingot
