#include "ops/families.hpp"

namespace ingot {

Family loss_family() { return {}; }

}  // namespace ingot
