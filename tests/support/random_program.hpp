// Random programs of views, writes and arithmetic over inputs that alias each other, for comparing two ways to run them.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "op/value.hpp"

namespace ingot::testing {

// One call. Tensors are named by their place in a pool that starts with the inputs and grows by every result.
struct Step {
  std::string op;
  std::vector<int> tensors;  // the leading arguments
  Values rest;               // the arguments after them
  int out = -1;              // the tensor of out=
  bool no_grad = false;
};
// An input is what some views make of a base.
struct ProgramInput {
  int base = 0;
  std::vector<Step> views;
};
struct Program {
  std::vector<Shape> bases;
  std::vector<bool> requires_grad;  // by base
  std::vector<ProgramInput> inputs;
  std::vector<Step> body;
  std::vector<int> outputs;
};

struct ProgramInputs {
  TensorList leaves;  // by base; what gradients accumulate into
  TensorList bases;   // leaf times one: not a leaf, so that it may be written
  TensorList inputs;
};

// The program of a seed: 3 to 30 calls, each of which runs eagerly, and at least one result. The same on every machine.
Program random_program(uint64_t seed);
std::string to_text(const Program& p);

// Fresh inputs, the same values each time. `gradients`: bases require grad where the program says so.
ProgramInputs make_inputs(const Program& p, bool gradients);
TensorList run(const Program& p, const TensorList& inputs);

// The smallest program found by leaving out calls and results for which `fails` holds still.
Program shrink(Program p, const std::function<bool(const Program&)>& fails);

}  // namespace ingot::testing
