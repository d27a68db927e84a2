#include "ops/families.hpp"

namespace ingot {

Family index_family() { return {}; }

}  // namespace ingot
