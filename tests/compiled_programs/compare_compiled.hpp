// Eager against compiled by Ingot: machine code for open sizes, and with gradients.
#pragma once
#include <map>

#include "support/compare_functionalized.hpp"

namespace ingot::testing {

// What a setting of the sizes of a program showed.
enum class SettingAgreement {
  agree,
  laid_out,       // eager refuses, but not inputs that lie as they were recorded: so the library lays out its own
  both_refuse,    // eager refuses the program, and so does what was compiled
  other_sizes,    // refused by the library alone, because the recording fixed or bounded a size
  refused,        // for the reason that the comparison gives; so are all settings of a program that does not compile
  // Eager refuses a call of which nobody reads more than a size. Compiled code does not make it,
  // but recording may:
  unread_ran,      // it runs without the call
  unread_refused,  // it refuses as well
  // Eager refuses, and a call made another number of values than where it was recorded: what runs
  // is another program.
  other_values,
};
const char* name_of(SettingAgreement a);

struct CompiledComparison : Comparison {
  std::map<SettingAgreement, int> settings;  // every one of the program's, unless it differs
};
// Compiles the program once for the first setting of its sizes, and runs the library at each. A
// library by itself returns tensors without gaps that share no memory; otherwise everything is
// compared that a caller sees, and how far the random stream went.
CompiledComparison compare_compiled(const Program& p);

// Forward and backward compiled (R007), the weights of the program as parameters of a module.
Comparison compare_compiled_with_gradients(const Program& p);
// The same for a function whose sizes are open, called at every setting of the program's: a call
// that breaks a guard of what was compiled before compiles again. Gradients are counted at every
// setting.
CompiledComparison compare_open_with_gradients(const Program& p);

}  // namespace ingot::testing
