// Ops that call functions (control flow), over wrapper tensors.
#pragma once
#include "op/call.hpp"
#include "op/function.hpp"

namespace ingot {

// The call as one of plain tensors: operands are taken apart, the functions put them together again
// and run at the wrapper layer, and their results are taken apart. So every class runs the ops of
// the functions, and none has to know about control flow. User error where the classes would depend
// on data, for a condition that is a wrapper, and where rows of a wrapper are not made of rows.
Value call_on_plain_tensors(const Op& op, Args args, const CallingConvention& convention);

}  // namespace ingot
