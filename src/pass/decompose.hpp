// The ops that programs are brought down to before they are lowered.
#pragma once
#include "graph/trace.hpp"
#include "pass/pass.hpp"

namespace ingot {

// An op that is itself a program of other ops is replaced by that program, whatever its name: those
// that stay are formulas, reductions, views, factories and kernels. Ops that only act (assertions),
// return numbers or look at elements stay.
const Decompositions& core_decompositions();

// The same for a graph that is there already: programs stand for its calls of such ops. What they
// are given, and what they make, must be known. `sizes` is the environment of the graph's symbols,
// each of which is a size of some value of the graph, or a number; what the programs need of them
// becomes its guards. A function is traced with the table instead, which makes no call that comes
// apart.
Pass decompose_pass(ShapeEnv& sizes);

}  // namespace ingot
