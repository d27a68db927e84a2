#include "ops/families.hpp"

namespace ingot {

Family view_composite_family() { return {}; }

}  // namespace ingot
