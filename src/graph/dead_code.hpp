// Dead code (G09 of the spec).
#pragma once
#include "graph/graph.hpp"

namespace ingot {

// Whether a call does something beside making its result: it writes an argument, or has no result
// at all (an assertion, a constraint), or applies an operator it is given by name, which may do
// either. So does drawing random numbers, as in PyTorch: whoever draws next would get others if a
// draw that nobody uses were left out.
bool has_side_effect(const Op& op);
// The same of a node of `g`: also a switch of the grad mode, a call of an operator Ingot does not
// know, and a call of a subgraph with such a node in it.
bool has_side_effect(const Graph& g, const Node& n);

// The graph without the nodes whose results nothing uses and that have no side effect. Placeholders
// stay, names and attributes too; subgraphs are left as they are.
Graph without_dead_code(const Graph& g);

}  // namespace ingot
