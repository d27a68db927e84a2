// Graphs that are nearly what can be lowered: over values alone, for fixed sizes. They are taken as
// they are, without a trace.
#pragma once
#include <optional>
#include <span>

#include "graph/graph.hpp"

namespace ingot {

// The graph with programs in the place of the calls that come apart (pass/decompose.hpp), over
// those of its inputs that are `taken`; of the others the graph uses none but numbers, which
// `examples` has. Nothing where that is not all that a trace would change: calls that write,
// functions that calls are given, sizes that are open, inputs that do not lie as `like`, by taken
// input, says.
std::optional<Graph> as_functional(const Graph& graph, std::span<const std::size_t> taken, const Values& examples,
                                   const Values& like);

}  // namespace ingot
