// Tokens of ordered effects that a graph makes and consumes itself (R168).
#pragma once
#include "pass/pass.hpp"

namespace ingot::aot {

// Of a forward or the only graph, whose first `tokens` inputs and outputs are tokens: no input or
// output is one any more.
Pass own_tokens_pass(int tokens);
// Of the backward: the first `tokens` of its results, which are theirs and None, go.
Pass own_tokens_of_backward_pass(int tokens);

}  // namespace ingot::aot
