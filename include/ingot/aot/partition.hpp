// How a function with gradients is cut into what runs in the forward and what runs in the backward:
// what is kept in between, and how much memory that may take.
//
//   AotOptions options = fusing_options();                                              // ingot/compile.hpp
//   options.partition = min_cut_partitioner({.activation_bytes = int64_t{64} << 20});   // 64 MiB, whatever it takes in time
//
// MemoryBudgetScope and CheckpointScope (src/graph/save_policy.hpp) are for parts of a function.
#pragma once
#include <cstdint>
#include <optional>

#include "ingot/aot/function.hpp"

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

// R114 to R129: what is cheaper to compute again in the backward than to keep is computed again.
// User error, when it cuts, for a ratio outside of [0, 1] and for negative bytes. Settings are part
// of the key of a cache (R187).
Partitioner min_cut_partitioner(const MinCutOptions& options = {});

}  // namespace ingot::aot
