// What to keep where there is not enough memory for what the rules would keep (R125).
#pragma once
#include "aot/joint_info.hpp"
#include "aot/min_cut.hpp"

namespace ingot::aot {

struct Choice {
  std::vector<Node*> saved;  // in order of the graph
  bool fits = true;          // in the budget
};

// The first of a list of ways to cut the graph that fits in the budget; where none does, the one
// that keeps least. The list is the same for every budget, from much kept and little done again to
// the reverse: by the rules; without those about fusion; without the allowlist; then, one for each
// share of the memory, the values that are worth most time in so many bytes (a 0-1 knapsack); at
// last the inputs alone. So a smaller budget never keeps more: had an earlier way fewer bytes, it
// would have fitted too.
Choice choose_saved(const JointInfo& joint, const MinCutOptions& options);

// 0-1 knapsack: which items, of these sizes and values, are worth most together in a given
// capacity. Sizes count in `steps` parts of the largest capacity, rounded up: what is chosen always
// fits. One table answers for every capacity.
class Knapsack {
 public:
  Knapsack(const std::vector<int64_t>& sizes, const std::vector<double>& values, int64_t largest_capacity, int steps = 4096);
  std::vector<bool> best(int64_t capacity) const;  // by item; at most the largest capacity

 private:
  int64_t largest_;
  int steps_;
  std::vector<int> sizes_;  // in steps
  std::vector<std::vector<bool>> takes_;  // [item][steps]: whether the best of the items so far has it
};

// The same to the byte, for one capacity.
std::vector<bool> exact_knapsack(const std::vector<int64_t>& sizes, const std::vector<double>& values, int64_t capacity);

// The same by taking what is worth most for its size first, as long as there is room.
std::vector<bool> greedy_knapsack(const std::vector<int64_t>& sizes, const std::vector<double>& values, int64_t capacity);

}  // namespace ingot::aot
