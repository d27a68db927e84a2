// Structural equality of graphs: the same program, node by node. What is known about values (meta),
// what those who made the graph call them (roles, but for tangents) and where the nodes come from
// (stack traces) is not compared.
#pragma once
#include <string>

#include "graph/graph.hpp"

namespace ingot {

bool is_list(const Value& v);  // of any kind
// Value::same, and lists are equal by their elements whatever kind of list holds them: an empty
// list has no kind.
bool same(const Value& a, const Value& b);

// The first difference in words ("node mul: argument 1 is 2, and 3"); empty where there is none.
// Names, order, which inputs are tangents, operators, arguments, results and attributes count;
// tensors of attributes are compared by identity, subgraphs by structure.
std::string difference(const Graph& a, const Graph& b);
inline bool same(const Graph& a, const Graph& b) { return difference(a, b).empty(); }

}  // namespace ingot
