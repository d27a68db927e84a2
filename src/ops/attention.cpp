#include "ops/families.hpp"

namespace ingot {

Family attention_family() { return {}; }

}  // namespace ingot
