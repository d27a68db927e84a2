// The order in which a backward runs (R129).
#pragma once
#include "pass/pass.hpp"

namespace ingot::aot {

// The same graph with what is computed again put where it is first needed, so that it lives no
// longer than it must: from the first node that reads a tangent on nodes keep their order, and each
// brings along what it needs of the nodes before. Nothing that a call with an effect could change
// moves past it.
Graph computed_when_needed(const Graph& backward);
Pass reorder_pass();

}  // namespace ingot::aot
