// The partitioner that computes again in the backward what is cheaper to compute than to keep
// (section 9.3).
#pragma once
#include <optional>

#include "aot/joint_info.hpp"
#include "aot/partition.hpp"

namespace ingot::aot {

// Of a value that a budget may give up: what computing it again takes. `profile`: the time it takes
// on this machine, which is measured;
// `testing`: as much for each.
enum class RuntimeEstimator : uint8_t { flops, profile, testing };
// Which values are kept in so much memory: those worth most time together, with sizes rounded up
// (`dp`) or to the byte (`ilp`, whose time has no bound that is worth naming), or one after the
// other by time for a byte.
enum class KnapsackSolver : uint8_t { dp, greedy, ilp };

// R011. What the rules do is said where they are (recompute_rules).
struct MinCutOptions {
  bool cse = true;  // equal calls are made once (R114)
  int max_distance = 1000;  // from the backward: what is farther away is kept rather than computed again (R119)
  bool ban_used_far_apart = true;  // R122
  bool ban_long_fusible_chains = true;  // R123
  bool ban_materialized = true;  // what the backward must have in memory anyway is kept (R119)
  bool ban_not_in_allowlist = true;  // R124; otherwise all but random numbers and what is compute-intensive may run again
  bool ban_reductions = true;  // results much smaller than what they are made of are kept (R119)
  bool recompute_views = false;  // views are made again and never kept
  bool aggressive_recomputation = false;  // as if no rule but those about reductions and distances were on

  // How much of what the rules would keep may be kept, beside the inputs: from 0, the inputs alone,
  // to 1 (R125).
  double memory_budget = 1;
  RuntimeEstimator estimator = RuntimeEstimator::flops;
  KnapsackSolver solver = KnapsackSolver::dp;
  // Instead of that: bytes of activations that may be kept, as SavePlan counts them. A smaller
  // budget never has a plan of more bytes.
  std::optional<int64_t> activation_bytes = {};
};

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
