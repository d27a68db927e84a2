// Eager against compiled by Ingot: machine code for open sizes, and with gradients.
#pragma once
#include "support/compare_functionalized.hpp"

namespace ingot::testing {

struct CompiledComparison : Comparison {
  int compared = 0;         // settings of the sizes that ran and agree
  int eager_refuses = 0;    // settings at which eager refuses the program: nothing is compared
};
// Compiles the program, which draws no random numbers, once for the first setting of its sizes, and runs the library at each.
CompiledComparison compare_compiled(const Program& p);

// Forward and backward compiled (R007), the weights of the program as parameters of a module.
Comparison compare_compiled_with_gradients(const Program& p);

}  // namespace ingot::testing
