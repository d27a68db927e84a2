// Graphs that are nearly what can be lowered: over values alone. They are taken as they are,
// without a trace.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>

#include "pass/functional_trace.hpp"

namespace ingot {

// A graph of the function whose sizes the environment of this thread knows, to be made a library.
struct GraphToTake {
  const Graph& graph;
  std::span<const std::size_t> taken;  // inputs that the library takes; of the others the graph uses none but numbers
  const Values& inputs;                // by input: what it looks like; numbers that are fixed
  const Examples& examples;            // by taken input
  const std::map<std::string, Expr>& named;  // sizes that have names of their own in `examples` (name_underived)
};

// The graph over the inputs that are taken, with programs in the place of the calls that come apart
// (pass/decompose.hpp). Its sizes are in an environment of its own, in the names that `examples`
// has for them, with what was found of them so far. Nothing where a trace would do more: where an
// input lies otherwise than the graph records, the graph writes something before its end, has
// higher-order ops, effects that have an order, sizes that data decides, or such as its inputs do
// not say.
std::optional<Traced> as_functional(const GraphToTake& g);

}  // namespace ingot
