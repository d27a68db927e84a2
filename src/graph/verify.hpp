// The rules a graph keeps (docs/ir.md lists them), checked.
#pragma once
#include <string>

#include "graph/graph.hpp"

namespace ingot {

// User error that says what is wrong with the first node that breaks a rule, with the printed lines
// around it.
void verify(const Graph& g);
// The same as text; empty where all rules hold.
std::string find_fault(const Graph& g);

// Why the argument cannot stand for the parameter ("must be Tensor, not str"); empty if it can. A
// node whose result is not known may stand for anything. `g` is the graph of the argument's nodes.
std::string argument_fault(const Graph& g, const SchemaArg& param, const Argument& a);

}  // namespace ingot
