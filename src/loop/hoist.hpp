// What a loop would compute again and again.
#pragma once
#include "loop/program.hpp"

namespace ingot::loop {

// Moves kernels in loops that compute the same each time before the outermost such loop: the layout
// of a weight for a product, above all. Only what depends on no data but by the elements it reads:
// a loop may run not at all.
void hoist(Program& p);

}  // namespace ingot::loop
