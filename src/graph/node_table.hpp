// Tables with a place for each node of a graph.
#pragma once
#include <cstddef>

#include "graph/graph.hpp"

namespace ingot {

// Where such a table has the node: ids are positions.
inline std::size_t at(const Node* n) { return static_cast<std::size_t>(n->id); }

}  // namespace ingot
