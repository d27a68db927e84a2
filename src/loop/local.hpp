// What a kernel keeps to itself.
#pragma once
#include <vector>

#include "loop/program.hpp"

namespace ingot::loop {

// Nests that run over the same extents get the same variables and, where none waits for another's
// fold, become one. Stores of buffers that are the kernel's `own`, since nobody else reads them,
// are dropped where nothing does, or go to scratch memory; what several nests compute, and is worth
// more than a load and a store, is computed once and kept there.
void keep_local(Program& p, Kernel& k, const std::vector<int>& own);

}  // namespace ingot::loop
