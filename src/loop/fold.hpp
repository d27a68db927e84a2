// What depends on constants alone is computed once for each set of weights, not in every run.
#pragma once
#include <optional>

#include "loop/program.hpp"

namespace ingot::loop {

// Moves the steps of a scheduled program that read nothing but constants into a program of their
// own, whose outputs are constants of `p` from then on: the last of p.constants, in order.
// `is_written[k]`: constant k changes while the model runs. Nothing where there is nothing to move.
std::optional<Program> fold_constants(Program& p, const std::vector<bool>& is_written);

}  // namespace ingot::loop
