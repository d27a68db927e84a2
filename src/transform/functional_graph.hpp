// The rule for graphs that compilers take: values everywhere, writes to placeholders alone.
#pragma once
#include "graph/graph.hpp"

namespace ingot {

// R063: the only calls that write are copy_ and set_ whose first argument is a placeholder, each
// placeholder written at most once, and resizes of a placeholder's storage, or of that of the value
// that replaced it. User error naming the first node that breaks it. Returns how many writes there
// are: dead-code removal must not change that.
int require_functional(const Graph& g);

}  // namespace ingot
