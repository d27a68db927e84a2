// The table that functions are compiled with where their compiler is to fuse them (R007; section 7
// of the dispatch specification).
#pragma once
#include "graph/trace.hpp"

namespace ingot::aot {

// Activations and their gradients, masked_fill and detach as programs of arithmetic, so that the
// partitioner sees which parts forward and backward have in common. Small floating types are
// computed in float32, as their kernels do. What the table of PyTorch has beside these are
// composites here, which come apart in any case, and ops of another device.
const Decompositions& default_decompositions();

}  // namespace ingot::aot
