// Tables with a place for each node of a graph.
#pragma once
#include <cstddef>

#include "base/index.hpp"
#include "graph/graph.hpp"

namespace ingot {

// Where such a table has the node: ids are positions.
inline std::size_t at(const Node* n) { return at(n->id); }

}  // namespace ingot
