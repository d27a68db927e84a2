#include "ops/families.hpp"

namespace ingot {

Family comparison_family() { return {}; }

}  // namespace ingot
