// The partitioner that computes again in the backward what is cheaper to compute than to keep
// (section 9.3).
#pragma once
#include <string>
#include <vector>

#include "aot/joint_info.hpp"
#include "aot/partition.hpp"
#include "ingot/aot/partition.hpp"

namespace ingot::aot {

// R114 to R129. What writes is never done again, and random values only where the author wants them
// again: then with the state that the stream had in the forward (R127), whatever the budget says.
// The author's own budget (MemoryBudgetScope) is the one that counts. User error for a ratio
// outside of [0, 1] and for negative bytes.
Parts partition_min_cut(const Joint& joint, const MinCutOptions& options);
inline Parts partition_min_cut(const Joint& joint) { return partition_min_cut(joint, {}); }

// The same as an AotOptions::partition whose settings can be told from others: they are part of the
// key of a cache (R187).
struct MinCutPartitioner {
  MinCutOptions options = {};
  Parts operator()(const Joint& joint) const { return partition_min_cut(joint, options); }
};
std::string to_text(const MinCutOptions& o);

// The network behind it: what keeping each node costs, and which nodes must or must not be kept. By
// id.
struct CutProblem {
  std::vector<int64_t> weight;  // FlowNetwork::kInfinite: cannot be kept
  std::vector<bool> banned;  // from being computed again: it is kept if the backward, or what that computes again, reads it
  std::vector<bool> recompute;  // is computed again if it is needed, and so is what is made of it
  std::vector<bool> backward;  // runs in the backward whatever is kept
  std::vector<bool> returned;  // by the backward, though it is no value of it
};
// `allowed`: nodes that no rule keeps from being computed again (the budget's choice); empty: none.
CutProblem cut_problem(const JointInfo& joint, const MinCutOptions& options, const std::vector<bool>& allowed = {});
// The nodes to keep, in order of the graph.
std::vector<Node*> min_cut(const Graph& joint, const CutProblem& problem);

}  // namespace ingot::aot
