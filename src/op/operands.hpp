// Which of a pointwise call's arguments its formula reads, and the type they are computed in: the
// one statement of it for the eager kernel and for the compiled loop.
#pragma once
#include <vector>

#include "op/formula.hpp"

namespace ingot {

// Pointers into c.args, in schema order, as many as the formula takes.
std::vector<const Value*> formula_operands(const Call& c, const Formula& f);
// The dtype the operands meet in; operands are converted to its compute type.
DType common_dtype(const Formula& f, const std::vector<const Value*>& operands);
DType result_dtype(const Formula& f, DType common);

}  // namespace ingot
