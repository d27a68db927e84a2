// Which values of the forward are not computed again in the backward (R118, R119, R122, R123).
#pragma once
#include "aot/joint_info.hpp"
#include "aot/min_cut.hpp"

namespace ingot::aot {

// By id. `allowed`: by id, nodes that no rule bans (the budget's choice); empty: none.
std::vector<bool> banned_from_recompute(const JointInfo& joint, const MinCutOptions& options, const std::vector<bool>& allowed);

// By id: whether the value is in memory whatever is fused, as an input or output of the graph or
// because a user starts a loop of its own (R120).
std::vector<bool> in_memory(const JointInfo& joint);

}  // namespace ingot::aot
