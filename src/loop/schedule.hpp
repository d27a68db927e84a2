// Computations to kernels: which are done together, in which order their loops run, and what becomes the lanes of vectors.
#pragma once
#include "loop/machine.hpp"
#include "loop/program.hpp"

namespace ingot::loop {

// Requires: the computations stand in an order in which each buffer is written before it is read.
// Ensures: no Computation is left; buffers that one kernel alone uses are scratch or gone.
void schedule(Program& p, const Machine& machine);

// The same for one kernel: variables that run on without a gap become one, the variable that loads and stores follow best
// becomes the last, and `across` is decided.
void arrange_loops(const Program& p, Kernel& k);

}  // namespace ingot::loop
