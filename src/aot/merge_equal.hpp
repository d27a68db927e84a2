// Equal calls made once (R114).
#pragma once
#include "aot/partition.hpp"

namespace ingot::aot {

// The joint graph with one node for calls of the same operator with the same arguments, types included: the first of them. Random
// calls, calls with an effect and calls that the author marked differently stay as they are, and so do two that the caller gets:
// writing one of its results must not change another.
Graph merge_equal_calls(const Joint& joint);

}  // namespace ingot::aot
