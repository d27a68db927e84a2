// The front end: a function as a graph of the calls it makes, in its own words. Views, writes,
// switches of the grad mode and requires_grad_ are nodes, and composites stay whole where they
// neither alias nor write. The graph is a program to compile like the function itself, which can be
// printed, compared and kept.
#pragma once
#include "aot/dense.hpp"
#include "aot/metadata.hpp"
#include "graph/trace.hpp"

namespace ingot::aot {

// What a graph is of: tensors as the function has them, on which the classes of wrappers act when
// it runs, or the plain tensors that wrappers are made of, with all that their classes did.
enum class Wrappers { whole, apart };

struct Captured {
  Graph graph;  // inputs arg0_1, …
  DenseLayout inputs, results;  // apart: what is a wrapper for the caller is several plain tensors
  std::optional<bool> grad_mode;  // that the function leaves behind, where it is another one
};

// `fakes`: of the arguments (inputs.hpp); the run may change how they look. User errors: those of
// f, and for what f does that no node says (op/side_effects.hpp).
Captured capture(const FlatFunction& f, const Values& fakes, ShapeEnv& sizes, Wrappers wrappers = Wrappers::apart);

// The function again. No wrapper may have been taken apart: what autograd sees of a function of
// wrappers is not what it sees of their tensors.
FlatFunction function_of(Captured c);

}  // namespace ingot::aot
