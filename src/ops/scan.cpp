#include "ops/families.hpp"

namespace ingot {

Family scan_family() { return {}; }

}  // namespace ingot
