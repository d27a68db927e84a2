// G10 of the spec: chains of `detach` come from the reference's own layering. A test may compare
// after taking each chain for one detach; a test that does so must say so.
#pragma once
#include "graph/graph.hpp"

namespace ingot {

// Each chain of detaches in which every one but the last has a single user becomes its first, and
// detaches are numbered anew.
Graph with_short_detach_chains(const Graph& g);

}  // namespace ingot
