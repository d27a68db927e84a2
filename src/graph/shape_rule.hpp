// What a node records of its result, held against the shape rule of its op.
#pragma once
#include <string>

#include "graph/graph.hpp"
#include "graph/text.hpp"

namespace ingot {

// Why the node's record (Node::meta) is not what its op makes of what its operands record; of an
// element, what the list has there, and of an attribute, what the graph has. What counts is what a
// listing of this form says: nothing, dtypes and sizes, or strides and devices as well. Empty where
// they agree, and where nobody can say:
// - nothing is recorded of the node or of an operand;
// - the op runs functions (their graphs are held to the rules by themselves), makes a wrapper, or
//   is called for its effect;
// - the data decides what the op makes: its rule would make other symbols than those recorded, or
//   has to have the elements;
// - the rule asks about open sizes what does not follow from their ranges, or two open sizes are
//   neither equal nor different by their ranges: a graph does not say what its trace took for
//   granted.
// Runs no kernel and changes nothing. Requires that arguments and elements keep the other rules of
// docs/ir.md.
std::string record_fault(const Graph& g, const Node& n, GraphForm form);

}  // namespace ingot
