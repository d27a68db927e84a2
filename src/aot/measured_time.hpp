// What a node of a graph takes on this machine (R011's estimator "profile").
#pragma once
#include "graph/graph.hpp"

namespace ingot::aot {

// The call is made a few times by its kernel, on zeros of the sizes that the thread's shape
// environment has hints of, and the quickest counts. What is no call takes none, and what refuses
// zeros as long as its steps would (loop_form.hpp).
double measured_nanoseconds(const Node& n);

}  // namespace ingot::aot
