// Graphs of random nodes over all ops: they keep the verifier's rules and mean nothing.
#pragma once
#include <cstdint>

#include "graph/graph.hpp"

namespace ingot {

// The same seed makes the same graph. Arguments have the kinds their schemas want; there are items,
// scalars, attributes, subgraphs (`depth` levels of them), unsupported nodes, nested lists, strings
// and floats of every sort.
Graph random_graph(uint64_t seed, int depth = 2);

}  // namespace ingot
