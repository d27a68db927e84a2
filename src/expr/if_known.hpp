// Comparisons for rules that have a way to go on where nobody can answer: none where only data
// decides. Of open sizes the answer is a guard, as it is for == and <.
#pragma once

#include <optional>
#include <string>

#include "ingot/int.hpp"

namespace ingot {

std::optional<bool> equal_if_known(Int a, Int b);
std::optional<bool> less_if_known(Int a, Int b);
// Whether data that is not there yet has a say in the number.
bool data_decides(Int v);
// What only data decides, taken for granted: a run of the program checks it, and says `message`
// where it does not hold.
void take_for_less(Int a, Int b, const std::string& message);

// Whether a symbolic number is a truth value: a bool of the data, or the answer to a comparison.
bool is_truth(Int v);

}  // namespace ingot
