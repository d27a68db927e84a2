// What the compiled form of a call says about its cost, without a list of names: the rule
// OpDef::lower is run on the node's fakes, and what it asks for is counted.
#pragma once
#include "graph/graph.hpp"

namespace ingot::aot {

// The value of a size under the hints of the thread's shape environment; `otherwise` where only
// data decides it.
int64_t hinted(Int size, int64_t otherwise);
inline constexpr int64_t kUnknownElements = 4096;  // R120
int64_t elements_of(const Tensor& t);

struct LoopForm {
  bool reads_few = false;  // each element of the result is made of a few elements of the operands: without folds and kernels
  bool contracts = false;  // it folds over elements of several operands, as a product does
  double steps = 0;  // of all its loops
};
// All false and no steps where the op has no loop form for the call.
LoopForm loop_form(const Node& n);

// Whether the op is a program of formulas, views and factories, as OpDef::body has it.
bool is_cheap_program(const Node& n);

// What doing the node again takes, in steps of its loops (R125): of a call without a loop form, its
// operands and results, or, where it is a product, what a product of such tensors takes.
double estimated_steps(const Node& n);

}  // namespace ingot::aot
