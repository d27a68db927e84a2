// The graphs of a function: what it computes, with its effects on inputs as results or as copies into them (section 8).
#pragma once
#include "aot/metadata.hpp"
#include "graph/trace.hpp"

namespace ingot::aot {

// Of a function without gradients: (inputs that are written back, then outputs), R093 to R098. Inputs are arg0_1, arg1_1, …
// `pre_dispatch`: above autograd, for export (R178).
Graph base_graph(const FlatFunction& f, const Values& fakes, const Metadata& meta, ShapeEnv& sizes, const Decompositions* decompositions,
                 bool pre_dispatch = false);

struct JointGraph {
  Graph graph;
  std::vector<int> written_by_backward;  // inputs that the backward writes: copies into them are the backward's (R103, R104)
};

// Of a function and its gradients: inputs primals_1, …, tangents_1, …; outputs (inputs that are written back, outputs,
// intermediate bases, then for each primal its gradient or None), R099 to R107.
// `no_tangents`, for export: the one result with gradients has one element, whose own gradient is 1 (R101). Inputs are arg0_1, … then,
// and the gradients are those of the primals that require grad. User error for one that has none (R180).
JointGraph joint_graph(const FlatFunction& f, const Values& fakes, const Metadata& meta, ShapeEnv& sizes, const Decompositions* decompositions,
                       bool no_tangents = false);

}  // namespace ingot::aot
