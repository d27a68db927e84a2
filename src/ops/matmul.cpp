#include "ops/families.hpp"

namespace ingot {

Family matmul_family() { return {}; }

}  // namespace ingot
