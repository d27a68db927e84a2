// Runs a golden case and compares with what PyTorch computed.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "check/compare.hpp"
#include "check/suite.hpp"

namespace ingot {

struct CheckOptions {
  bool gradients = false;  // compare gradients too, where the case has them
  bool strides = false;    // the strides of an op's outputs must be PyTorch's
  std::optional<Tolerance> tolerance = std::nullopt;  // instead of the usual ones
};

struct CheckResult {
  enum class Outcome : uint8_t { passed, failed, skipped };
  Outcome outcome = Outcome::passed;
  std::string message;                   // what failed, or why the case says nothing about Ingot; on one line
  std::vector<std::string> missing_ops;  // why it failed: "torch.ops.aten.foo.Tensor"
  double worst = 0;                      // greatest |difference| / bound; past 1 is a failure
  double largest = 0;                    // greatest |difference|
  std::string where;                     // of the worst: "out.0"
  std::string partly;                    // why not everything was compared; empty: all was
  double seconds = 0;
};

// Loads the case's program once for each of its data files, runs it eagerly, compares. Never throws for what the case
// does; stops at the first data file that fails.
CheckResult check_case(const Case& c, const CheckOptions& options);

}  // namespace ingot
