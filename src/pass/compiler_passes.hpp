// The passes that make a function of a library from one of AOT's graphs (src/compiler), by name.
#pragma once
#include <vector>

#include "pass/dead_code.hpp"
#include "pass/merge_equal.hpp"
#include "pass/pass.hpp"

namespace ingot {

inline constexpr StepName kComputedOutputs{"computed_outputs", true};   // compiler/compiled_graph.cpp
inline constexpr StepName kPlacesFromFirst{"places_from_first", true};  // compiler/graph_library.cpp
inline constexpr StepName kTakenInputs{"taken_inputs", true};           // compiler/functional_graph.cpp
inline constexpr StepName kDecompose{"decompose", true};                // decompose.hpp

// All of them, in the order in which a graph comes by them, each once: dead code goes twice, and
// the last two are those of any program that is compiled (compiler/pipeline.cpp).
inline std::vector<StepName> compiler_passes() {
  return {kComputedOutputs, kPlacesFromFirst, kTakenInputs, kDecompose, name_of(dead_code_pass()), name_of(merge_equal_pass(0))};
}

}  // namespace ingot
