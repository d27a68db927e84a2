// Equal calls made once (R114).
#pragma once
#include "pass/pass.hpp"

namespace ingot {

// The graph with one node for calls of the same operator with the same arguments, types included:
// the first of them. Random calls, calls with an effect and calls that the author marked
// differently stay as they are, and so do two of which the caller gets a result, which are the
// first `results` outputs: writing one of its results must not change another.
Graph merge_equal_calls(const Graph& g, std::size_t results);

Pass merge_equal_pass(std::size_t results);

}  // namespace ingot
