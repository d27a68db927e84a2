// The partitioner that computes again in the backward what is cheaper to compute than to keep (section 9.3).
#pragma once
#include "aot/partition.hpp"

namespace ingot::aot {

struct MinCutOptions {
  int max_distance = 1000;       // from the backward: what is farther away is kept rather than computed again (R119)
  bool ban_reductions = true;    // results much smaller than what they are made of are kept
  bool ban_materialized = true;  // what the backward must have in memory anyway is kept
};

// R115 to R121, R124, R126. Random values are never computed again.
Parts partition_min_cut(const Joint& joint, const MinCutOptions& options);
inline Parts partition_min_cut(const Joint& joint) { return partition_min_cut(joint, {}); }

// The network behind it, for tests: what keeping each node costs, and which nodes must or must not be kept.
struct CutProblem {
  std::vector<int64_t> weight;  // by id; FlowNetwork::kInfinite: cannot be kept
  std::vector<bool> banned;     // from being computed again: it is kept if the backward, or what that computes again, reads it
  std::vector<bool> backward;   // runs in the backward whatever is kept
  std::vector<bool> returned;   // by the backward, though it is no value of it
};
CutProblem cut_problem(const Joint& joint, const MinCutOptions& options);
// The nodes to keep, in order of the graph.
std::vector<Node*> min_cut(const Graph& joint, const CutProblem& problem);

}  // namespace ingot::aot
