// Runs a function and records every operator call it makes: the trace layer of `call`.
#pragma once
#include <functional>
#include <vector>

#include "graph/fake.hpp"
#include "graph/graph.hpp"
#include "graph/shape_env.hpp"
#include "graph/tree.hpp"
#include "ingot/decompositions.hpp"
#include "ingot/transforms.hpp"

namespace ingot {

struct TraceOptions {
  TraceWith with = TraceWith::fakes;              // with symbols, integers among the leaves are open too
  std::vector<OpenSize> open = {};                // sizes and integers to keep open; not with data
  const Decompositions* decompositions = nullptr;
  bool pre_dispatch = false;  // composites that neither alias nor write stay whole, and switches of the grad mode are nodes
  bool faithful = false;  // what the function does beside calls, and no node says, is a user error (op/side_effects.hpp)
  int tokens = 0;  // calls with ordered effects take a token and make the next: so many inputs and outputs before all others
  bool keep_loops =
      false;  // what the program of an op does for row after row is one call of scan, where no gradient is asked for
  bool allow_constants = true;  // tensors that the function brings along are attributes of the graph; otherwise a user error
};

// What the function did for the example's sizes, and for all sizes for which every guard of `sizes`
// has its answer.
struct Traced {
  Graph graph;
  ShapeEnv sizes;
  TreeSpec inputs, results;  // how the caller nests them; of a function over lists, lists
};

// Composites have come apart, so nodes are ops with rules of their own; the node's `meta` is its
// fake result. A tensor that `f` brings along becomes an attribute of the graph. A symbolic number
// in an argument becomes sym_size and scalar nodes, made at its first use. A call that writes a
// tensor is recorded as such (functionalize takes writes away). Examples that share storage, or are
// one tensor, do so in what `f` sees. Numbers among the leaves are constants of the graph, and have
// a placeholder all the same; an open integer is its placeholder. Where a node was written comes
// from the node that an Interpreter is running, or from a SourceScope (op/source_note.hpp). User
// errors: a traced value read as a number where that needs data, an open size that does not fit its
// example, a result that is no tensor or number, an op that gives a tensor which `f` brings along
// other sizes or another storage.
Traced trace(const TensorFunction& f, const TensorList& examples, const TraceOptions& options = {});
Traced trace(const TreeFunction& f, const Tree& example, const TraceOptions& options = {});

// The same over flat lists, for fakes that are there already: `f` sees them, and they are the
// graph's inputs, under these names (after those of tokens). `sizes` is the environment of their
// symbols. A result may be any leaf; what is no value of the graph is a constant of it.
Graph record(const std::function<Values(const Values&)>& f, const Values& fakes, const std::vector<std::string>& names,
             ShapeEnv& sizes, const TraceOptions& options = {});

// Runs the graph on arguments nested as the example was, and nests its results as the function did.
// User error for arguments of another shape.
Tree run(const Traced& traced, const Tree& arguments);

// Whether calls on this thread are being recorded.
bool is_tracing();

}  // namespace ingot
