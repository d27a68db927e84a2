#include "aot/passes.hpp"

#include <algorithm>

#include "pass/compiler_passes.hpp"
#include "pass/dead_code.hpp"
#include "pass/merge_equal.hpp"

namespace ingot::aot {

std::vector<StepName> pass_names() {
  std::vector<StepName> names{
      name_of(dead_code_pass()), name_of(merge_equal_pass(0)), kForwardPart, kBackwardPart, kReorder, kRandomStates, kOwnTokens};
  for (const StepName& s : compiler_passes())
    if (std::ranges::find(names, s.name, &StepName::name) == names.end()) names.push_back(s);
  return names;
}

}  // namespace ingot::aot
