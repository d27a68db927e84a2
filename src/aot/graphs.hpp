// The graphs of a function: what it computes, with its effects on inputs as results or as copies
// into them (section 8).
#pragma once
#include "aot/dense.hpp"
#include "aot/metadata.hpp"
#include "graph/trace.hpp"

namespace ingot::aot {

// Graphs are of plain tensors. What is a wrapper for the caller is several of them.
struct BaseGraph {
  Graph graph;
  DenseLayout inputs, returned;
};

// Of a function without gradients: (inputs that are written back, then outputs), R093 to R098.
// Inputs are arg0_1, arg1_1, … Where the function has ordered effects, tokens come first on both
// sides, here and in a joint graph, where they have None for a gradient (R168).
// `pre_dispatch`: above autograd, for export (R178).
BaseGraph base_graph(const FlatFunction& f, const Values& fakes, const Metadata& meta, ShapeEnv& sizes,
                     const Decompositions* decompositions, bool pre_dispatch = false);

struct JointLayouts {
  DenseLayout inputs, returned, tangents, gradients;
  bool has_wrappers() const;
};
struct JointGraph {
  Graph graph;
  JointLayouts layouts;
  std::vector<int> written_by_backward;  // inputs that the backward writes: copies into them are the backward's (R103, R104)
};

// Of a function and its gradients: inputs primals_1, …, tangents_1, …; outputs (inputs that are
// written back, outputs, intermediate bases, then for each primal its gradient or None), R099 to
// R107. `no_tangents`, for export: the one result with gradients has one element, whose own
// gradient is 1 (R101). Inputs are arg0_1, … then, and the gradients are those of the primals that
// require grad. User error for one that has none (R180).
JointGraph joint_graph(const FlatFunction& f, const Values& fakes, const Metadata& meta, ShapeEnv& sizes,
                       const Decompositions* decompositions, bool no_tangents = false);

}  // namespace ingot::aot
