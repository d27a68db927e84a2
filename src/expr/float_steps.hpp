// How many steps lead from one number to another, where sizes or data may decide the numbers.
#pragma once
#include "ingot/float.hpp"

namespace ingot {

// (end - start) / step, rounded up. User error for plain numbers that have none.
Int count_steps(Float start, Float end, Float step);

}  // namespace ingot
