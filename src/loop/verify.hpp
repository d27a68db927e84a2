// What a loop program must keep, for those that come from a text: the compiler's own are right, or
// it has a defect.
#pragma once
#include "loop/program.hpp"

namespace ingot::loop {

// User error, naming the step or buffer, unless
// - sizes, strides, extents and offsets are integers that symbols decide, and conditions are
//   conditions;
// - loads and stores name elements as their step does: one index for each dim in computations, a
//   distance in kernels;
// - values have the types of what they are stored to, and the factors and sums of a product those
//   that it names;
// - buffers and symbols are there before they are read: given, or written and decided by an earlier
//   step;
// - scratch memory is a kernel's own, and large enough for what lies in it;
// - indices lie inside of the buffers, and the sums of one row of a product before those of the
//   next, tried where they are smallest and largest, and at all values of a few variables
//   (loop/reach.hpp), for fixed sizes and some sizes that the guards allow.
// Indices that data decide, or that a check or a condition guards, are the author's: a loop program
// is as close to the machine as its code. Which products a machine has code for, its backend says
// (backend/backend.hpp).
void verify(const Program& p);

}  // namespace ingot::loop
