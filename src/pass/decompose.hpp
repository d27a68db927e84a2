// The ops that programs are brought down to before they are lowered.
#pragma once
#include "graph/trace.hpp"

namespace ingot {

// An op that is itself a program of other ops is replaced by that program, whatever its name: those that stay are formulas,
// reductions, views, factories and kernels. Ops that only act (assertions), return numbers or look at elements stay.
const Decompositions& core_decompositions();

}  // namespace ingot
