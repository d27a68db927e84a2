#include "aot/passes.hpp"

#include "pass/dead_code.hpp"
#include "pass/merge_equal.hpp"

namespace ingot::aot {

std::vector<StepName> pass_names() {
  return {
      name_of(dead_code_pass()), name_of(merge_equal_pass(0)), kForwardPart, kBackwardPart, kReorder, kRandomStates, kOwnTokens};
}

}  // namespace ingot::aot
