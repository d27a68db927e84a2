// Runs a golden case and compares with what PyTorch computed.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "check/compare.hpp"
#include "check/suite.hpp"
#include "program/program.hpp"

namespace ingot {

// Runs a program on its inputs and returns its results. New values of inputs and of the program's
// buffers are in them afterwards, as Program::run leaves them.
using Execute = std::function<Values(Program& program, Args inputs)>;

struct CheckOptions {
  bool gradients = false;  // compare gradients too, where the case has them
  bool strides = false;    // the strides of an op's outputs must be PyTorch's
  // How a case's program is run, instead of eagerly: called once for each case, whatever number of
  // data files it has.
  std::function<Execute(Program& program)> prepare = {};
  std::optional<Tolerance> tolerance = std::nullopt;  // instead of the usual ones
};

struct CheckResult {
  enum class Outcome : uint8_t { passed, failed, skipped };
  Outcome outcome = Outcome::passed;
  std::string message;                   // what failed, or why the case says nothing about Ingot; on one line
  std::vector<std::string> missing_ops;  // why it failed: "torch.ops.aten.foo.Tensor"
  double worst = 0;  // greatest |difference| / bound; past 1 is a failure, or PyTorch's rounding (compare.hpp)
  double largest = 0;  // greatest |difference|
  std::string where;  // of the worst: "out.0"
  std::string partly;  // why not everything was compared; empty: all was
  double seconds = 0;
};

// Loads the case's program once for each of its data files, runs it, compares. Never throws for
// what the case does; stops at the first data file that fails.
CheckResult check_case(const Case& c, const CheckOptions& options);

}  // namespace ingot
