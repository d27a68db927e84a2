// Compiled graphs as what the AOT layer runs; the compilers themselves are in ingot/compile.hpp.
#pragma once
#include <memory>

#include "ingot/aot/function.hpp"
#include "ingot/compile.hpp"

namespace ingot::aot {

class CompiledGraph;

// What runs the graph, without recording gradients.
Boxed boxed(std::shared_ptr<const CompiledGraph> compiled);

}  // namespace ingot::aot
