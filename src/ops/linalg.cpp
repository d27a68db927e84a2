#include "ops/families.hpp"

namespace ingot {

Family linalg_family() { return {}; }

}  // namespace ingot
