// Which computations share a kernel.
#pragma once
#include "loop/program.hpp"

namespace ingot::loop {

// Kernels that do what the computations do, one after the other, in an order that respects what
// reads what. Every load and store has its flat offset. A buffer that only one kernel uses becomes
// a value or scratch memory of it.
std::vector<Kernel> group(Program& p, const std::vector<Computation>& computations);

}  // namespace ingot::loop
