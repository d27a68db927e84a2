// Eager against compiled by Ingot: machine code for open sizes, and with gradients.
#pragma once
#include "support/compare_functionalized.hpp"

namespace ingot::testing {

struct CompiledComparison : Comparison {
  int compared = 0;      // settings of the sizes that ran and agree
  int both_refuse = 0;   // settings at which eager refuses the program, and so does the library
  int other_sizes = 0;   // settings that the library refuses because the recording fixed or bounded a size
};
// Compiles the program once for the first setting of its sizes, and runs the library at each. A library by itself returns tensors without
// gaps that share no memory; otherwise everything is compared that a caller sees, and how far the random stream went. A program is refused for its sizes where that
// holds for every setting but the one that it was compiled at.
CompiledComparison compare_compiled(const Program& p);

// Forward and backward compiled (R007), the weights of the program as parameters of a module.
Comparison compare_compiled_with_gradients(const Program& p);
// The same for a function whose sizes are open, called at every setting of the program's: a call that breaks a guard of what was compiled
// before compiles again. Gradients are counted at every setting.
CompiledComparison compare_open_with_gradients(const Program& p);

}  // namespace ingot::testing
