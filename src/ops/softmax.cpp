#include "ops/families.hpp"

namespace ingot {

Family softmax_family() { return {}; }

}  // namespace ingot
