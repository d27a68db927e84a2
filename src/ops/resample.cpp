#include "ops/families.hpp"

namespace ingot {

Family resample_family() { return {}; }

}  // namespace ingot
