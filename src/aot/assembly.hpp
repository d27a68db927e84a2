// A compiled function is what the compilers made of its graphs, and what happens around that in
// every call. The latter is here as a value: made when the function is compiled, or read from a
// cache, and put around graphs in one way (R067, R068, R191).
#pragma once
#include "aot/dedupe.hpp"
#include "aot/synthetic_base.hpp"
#include "aot/training.hpp"

namespace ingot::aot {

struct Assembly {
  Metadata meta;  // runtime_record
  Dedupe dedupe;
  SyntheticBase bases;
  JointLayouts layouts;  // of a function without gradients: inputs and returned alone
  int saved_tensors = 0;  // with gradients: that the forward returns after the rest, for the backward
  bool writes_tracked = false;  // the backward writes an argument of the function that requires grad
  bool backward_writes = false;  // … or any other argument
  std::vector<bool> without_gradient;  // by argument: the backward has none for it (R071)
};

// What runs the graphs for the arguments that they take. `backward`: of a function with gradients.
FlatCallable around_graphs(const Assembly& a, Boxed forward, std::shared_ptr<Backward> backward);
// … for the arguments that the caller gives.
FlatCallable around_arguments(const Assembly& a, FlatCallable graphs);

}  // namespace ingot::aot
