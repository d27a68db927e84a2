#include "ops/families.hpp"

namespace ingot {

Family rnn_family() { return {}; }

}  // namespace ingot
