// Graph to loop program, by the form of each op: a formula becomes an expression, a view an index
// map taken from its own geometry rule, other ops follow their `lower` rule, and what has none is a
// call of the eager library. Views and cheap pointwise values are not stored.
#pragma once
#include "graph/graph.hpp"
#include "graph/shape_env.hpp"
#include "loop/program.hpp"

namespace ingot::loop {

struct Lowered {
  Program program;
  std::vector<const Node*> inputs;     // placeholders, one for each of program.inputs
  std::vector<const Node*> constants;  // placeholders and attributes, one for each of program.constants
  std::vector<const Node*> written;    // those of both that the program writes
  std::vector<ShapeEnv::Deferred> unchecked;  // of those of the environment, what needs symbols that the graph does not have
};

// Requires: every node has its meta (trace.hpp); writes happen to placeholders alone
// (transform/functionalize.hpp).
// `is_constant[k]`: placeholder k is a constant of the model and no input. `sizes` is the
// environment of the graph's symbols: rules may ask it, and its guards, old and new, become the
// program's. What the environment deferred, the program checks where it knows the symbols.
// Ensures: outputs have the strides of their metas where those are dense, and are row-major
// otherwise; no output shares memory with another or with an input. Inputs are written after
// everything else is done. User error, naming the node, for what has no compiled form.
Lowered lower(const Graph& graph, ShapeEnv& sizes, const std::vector<bool>& is_constant = {});

// The user error for a view of a storage of which a compiled program has a part.
[[noreturn]] void refuse_other_elements(const Node& n);

}  // namespace ingot::loop
