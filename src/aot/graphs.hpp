// The graphs of a function: what it computes, with its effects on inputs as results or as copies into them (section 8).
#pragma once
#include "aot/metadata.hpp"
#include "graph/trace.hpp"

namespace ingot::aot {

// Of a function without gradients: (inputs that are written back, then outputs), R093 to R098. Inputs are arg0_1, arg1_1, …
Graph base_graph(const FlatFunction& f, const Values& fakes, const Metadata& meta, ShapeEnv& sizes, const Decompositions* decompositions);

// Of a function and its gradients: inputs primals_1, …, tangents_1, …; outputs (inputs that are written back, outputs,
// intermediate bases, then for each primal its gradient or None), R099 to R107.
Graph joint_graph(const FlatFunction& f, const Values& fakes, const Metadata& meta, ShapeEnv& sizes, const Decompositions* decompositions);

}  // namespace ingot::aot
