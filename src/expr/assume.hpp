// What a program says of sizes and of numbers of its data. Where these are plain numbers the answer
// is there; what is open the thread's guard environment (expr/guards.hpp) takes for granted from
// then on.
#pragma once
#include <string>

#include "base/dtype.hpp"
#include "ingot/float.hpp"
#include "ingot/int.hpp"
#include "ingot/shape.hpp"

namespace ingot {

// The program checks that this holds, and says `message` where it does not. False where it cannot
// hold.
bool assume_nonzero(Int v, const std::string& message);
bool assume_nonzero(Float v, const std::string& message);
bool assume_at_least(Int a, Int b, const std::string& message);

// Conditions as numbers: 1 or 0, or what is_truth of expr/if_known.hpp.
Int truth_of_at_most(Int a, Int b);
Int truth_of_equal(const Shape& a, const Shape& b);

// A number of the data that the program uses as a size.
void use_as_size(Int v);
// A number of the data, an element of this integer type. Who calls it found an environment.
Int fresh_element(DType t);

}  // namespace ingot
