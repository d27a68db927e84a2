// What a caller sees of a run of a program, and whether two runs show the same.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/random_program.hpp"

namespace ingot::testing {

// A run: the inputs afterwards, the results, and what was there before.
struct Outcome {
  ProgramInputs in;
  TensorList results;
  std::vector<uint32_t> versions;  // of the inputs, before the run
  bool keeps_strides = true;  // what out= wrote has the strides of what was written, not of the tensor: so in PyTorch's graphs
  bool counts_writes =
      true;  // versions say what was written: an in-place view that changes nothing is one for eager alone, in PyTorch too
  uint64_t drawn = 0;    // how far the run took the random stream
  uint64_t perturb = 0;  // RunOptions
};
using ProgramRunner = std::function<TensorList(const TensorList&)>;
// Runs on fresh inputs, with the random stream at the program's seed.
Outcome outcome_of(const Program& p, const InputOptions& options, const ProgramRunner& f);

// A tensor as it was seen.
struct Seen {
  std::string what;   // "result 0"
  std::string facts;  // size, dtype, strides, requires_grad, leaf, written: equal, or different
  Tensor values;      // a copy
};
std::vector<double> numbers(const Tensor& t);  // complex ones as their two parts
// Results, bases and inputs; wrapper tensors by their parts.
std::vector<Seen> seen(const Outcome& o);
// What a backward from each result and input gives the leaves: zeros where it has no way there. Refused gradients are in `refusals` by root.
struct SeenGradients {
  std::vector<std::string> roots;
  std::vector<std::vector<Seen>> gradients;  // by root; none where it is refused, or the root does not require grad
  std::vector<std::string> refusals;  // by root
};
// `at_once`: of all roots together.
SeenGradients seen_gradients(const Outcome& o, bool at_once = false);

// How far a number may be off: nothing for integers. Floating numbers that are within two units of the last place are the same; of others the
// program itself is asked how far rounding takes them: run in float64, and run with every rounding off by up to a unit, by
// chance, also in the backward (perturb.hpp). Another way to compute may be 8 times as far off as that, and 8 units of the largest number of the tensor.
class Allowance {
 public:
  Allowance(const Program& p, std::size_t setting, bool gradients);
  // The first difference of what two runs show, or nothing.
  std::optional<std::string> difference(const std::vector<Seen>& want, const std::vector<Seen>& got);

 private:
  const Program& p_;
  std::size_t setting_;
  bool gradients_;
  std::optional<std::map<std::string, double>> allowed_;  // by what was seen

  double allowed(const Seen& s);
  void measure();
};

// Writes each result, and finds out which elements of everything change: what aliases what.
std::optional<std::string> aliasing_difference(const Outcome& want, const Outcome& got);

}  // namespace ingot::testing
