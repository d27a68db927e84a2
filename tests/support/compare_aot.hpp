// Eager against compiled ahead of time, op by op: does a program with its gradients mean the same?
#pragma once
#include "support/compare_functionalized.hpp"

namespace ingot::testing {

enum class AotWay {
  plain,    // writes to inputs after the graph; default partitioner
  keep,     // writes to inputs in the graph where they can be
  min_cut,  // min-cut partitioner
  budget,   // the same with the least memory
};

// A program that throws where eager does not is one that differs.
Comparison compare_aot(const Program& p, AotWay way);

}  // namespace ingot::testing
