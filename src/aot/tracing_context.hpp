// What whoever captured a function knows about it, and is told about it while it is compiled (R046,
// R067, R079, R156).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "aot/metadata.hpp"

namespace ingot::aot {

struct TracingContext {
  std::vector<std::string> argument_sources;  // where each argument comes from: "self.weight", "x"; empty: nobody knows
  bool inlines_modules = false;               // parameters are arguments of the function, and not read by it
  bool fakify_first_call = false;             // the first call returns fakes of what the graph would, and runs nothing

  // Of arguments that were one tensor: the function holds only where they are.
  struct Repeat {
    std::string kept, dropped;
  };
  std::vector<Repeat> repeats;
  std::optional<Metadata> metadata;           // of the function as it is compiled
};

}  // namespace ingot::aot
