// What a loop program must keep, for those that come from a text: the compiler's own are right, or it has a defect.
#pragma once
#include "loop/program.hpp"

namespace ingot::loop {

// User error, naming the step or buffer, unless
// - loads and stores name elements as their step does: one index for each dim in computations, a distance in kernels;
// - values have the types of what they are stored to;
// - buffers and symbols are there before they are read: given, or written and decided by an earlier step;
// - where sizes are fixed, the first and the last value of all variables lie inside of the buffers.
// Indices that are inside at their ends and not between them, that open sizes or data decide, or that a check or a condition guards
// are the author's: a loop program is as close to the machine as its code.
void verify(const Program& p);

}  // namespace ingot::loop
