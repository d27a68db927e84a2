// The rules a graph keeps (docs/ir.md lists them), checked.
#pragma once
#include <string>

#include "graph/graph.hpp"
#include "graph/text.hpp"

namespace ingot {

// User error that says what is wrong with the first node that breaks a rule, with the printed lines
// around it. `records`: what is known of the graph's values, which the shape rules of ops are to
// agree with, is what a listing of this form says. A graph that was read from a readable listing
// has guesses for strides and devices, and one whose sizes are made up has nothing to agree with.
void verify(const Graph& g, GraphForm records = GraphForm::full);
// The same as text; empty where all rules hold.
std::string find_fault(const Graph& g, GraphForm records = GraphForm::full);

// Why the argument cannot stand for the parameter ("must be Tensor, not str"); empty if it can. A
// node whose result is not known may stand for anything. `g` is the graph of the argument's nodes.
std::string argument_fault(const Graph& g, const SchemaArg& param, const Argument& a);

}  // namespace ingot
