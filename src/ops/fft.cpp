#include "ops/families.hpp"

namespace ingot {

Family fft_family() { return {}; }

}  // namespace ingot
