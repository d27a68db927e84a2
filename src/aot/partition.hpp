// A joint graph cut in two: what runs in the forward, and what runs in the backward with what the forward kept for it
// (section 9).
#pragma once
#include "graph/graph.hpp"

namespace ingot::aot {

struct Parts {
  Graph forward;   // primals → the first outputs of the joint graph, then saved tensors, then saved integers
  Graph backward;  // saved integers, saved tensors, tangents → the other outputs
  int saved_tensors = 0, saved_integers = 0;
};

// R113: everything that the first `forward_outputs` outputs need is the forward; what the rest reads of it is saved.
Parts partition_default(const Graph& joint, int forward_outputs);

// The forward's nodes and what to save of them, into two graphs (R108 to R112). `saved` and `integers` are nodes of `joint`.
Parts split(const Graph& joint, int forward_outputs, const std::vector<Node*>& saved, const std::vector<Node*>& integers);

}  // namespace ingot::aot
