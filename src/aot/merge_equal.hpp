// Equal calls made once (R114).
#pragma once
#include "graph/graph.hpp"

namespace ingot::aot {

// The graph with one node for calls of the same operator with the same arguments, types included: the first of them. Random
// calls, calls with an effect and calls that the author marked differently stay as they are.
Graph merge_equal_calls(const Graph& g);

}  // namespace ingot::aot
