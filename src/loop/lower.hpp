// Graph to loop program, by the form of each op: a formula becomes an expression, a view an index map taken from its own
// geometry rule, anything else follows its `lower` rule. Views and pointwise values read once are not stored.
#pragma once
#include "graph/graph.hpp"
#include "graph/shape_env.hpp"
#include "loop/program.hpp"

namespace ingot::loop {

// Requires: every node has its meta (trace.hpp). `sizes` is the environment of the graph's symbols: rules may ask it, and
// its guards, old and new, become the program's.
// Ensures: outputs have the strides of their metas where those are dense, and are row-major otherwise; no output shares
// memory with another or with an input.
// User error, naming the node, for what has no compiled form yet.
Program lower(const Graph& graph, ShapeEnv& sizes);

}  // namespace ingot::loop
