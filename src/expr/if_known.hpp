// Comparisons for rules that have a way to go on where nobody can answer: none where only data decides. Of open sizes the answer
// is a guard, as it is for == and <.
#pragma once

#include <optional>

#include "ingot/int.hpp"

namespace ingot {

std::optional<bool> equal_if_known(Int a, Int b);
std::optional<bool> less_if_known(Int a, Int b);

}  // namespace ingot
