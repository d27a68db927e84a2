#include "loop/schedule.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "loop/group.hpp"

namespace ingot::loop {

void schedule(Program& p) {
  std::vector<Step> steps;
  for (std::size_t i = 0; i < p.steps.size();) {
    if (!std::holds_alternative<Computation>(p.steps[i])) {
      steps.push_back(std::move(p.steps[i++]));
      continue;
    }
    std::vector<Computation> run;  // computations one after the other may be regrouped; other steps stand where they are
    for (; i < p.steps.size() && std::holds_alternative<Computation>(p.steps[i]); i++) run.push_back(std::get<Computation>(p.steps[i]));
    for (Kernel& k : group(p, run)) {
      arrange_loops(p, k);
      steps.emplace_back(std::move(k));
    }
  }
  p.steps = std::move(steps);
}

}  // namespace ingot::loop
