// What a caller sees of a run of a program, and whether two runs show the same: of results, of the
// inputs afterwards and of what these are views of, the values, dtypes, sizes, strides,
// requires_grad, leaf-ness and whether they were written; the gradients of each; what is written
// with what. Not compared, since nothing promises them: by how much a version went up (a compiled
// function writes an input once, however often the program does), strides of dims in which nobody
// steps and of what an out= reaches, and where a result begins in its storage.
#pragma once
#include <functional>
#include <map>
#include <set>
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
  // What an out= reaches, by the names of seen(): it wrote them, they share memory with what it
  // wrote, or they are computed from that. What it wrote has the strides of what was written, not
  // of the tensor: so in PyTorch's graphs.
  std::set<std::string> free_strides;
  bool counts_writes = true;  // versions say what was written
  // Of the inputs: in-place views came to nothing, which counts as a write for eager alone, in
  // PyTorch too.
  std::vector<bool> only_viewed;
  uint64_t drawn = 0;  // how far the run took the random stream
  uint64_t perturb = 0;  // RunOptions
};
using ProgramRunner = std::function<TensorList(const TensorList&)>;
// Runs on fresh inputs, with the random stream at the program's seed.
Outcome outcome_of(const Program& p, const InputOptions& options, const ProgramRunner& f);

// A tensor as it was seen.
struct Seen {
  std::string what;  // "result 0"
  std::string facts;  // size, dtype, strides, requires_grad, leaf, written: equal, or different
  Tensor values;  // a copy
  std::string strides =
      {};  // of a gradient: not among the facts, since a recorded backward may lay it out otherwise, in PyTorch too
};
std::vector<double> numbers(const Tensor& t);  // complex ones as their two parts
// Results, bases and inputs; wrapper tensors by their parts.
std::vector<Seen> seen(const Outcome& o);
// What a backward from each result and input gives the leaves: zeros where it has no way there.
// Refused gradients are in `refusals` by root.
struct SeenGradients {
  std::vector<std::string> roots;
  std::vector<std::vector<Seen>> gradients;  // by root; none where it is refused, or the root does not require grad
  std::vector<std::string> refusals;  // by root
};
SeenGradients seen_gradients(const Outcome& o);
// The same of one root by a backward from all results and written inputs, with zeros as the
// gradients of the others: so a compiled backward runs, whichever results it is asked for, and a
// zero times an infinite derivative is NaN. None where it is refused. (An input that was not
// written gets no zeros: to add them is to multiply by one, which makes nan + 0j nan + nanj.)
std::vector<Seen> seen_gradients_among_zeros(const Outcome& o, std::size_t root);

// How far a number may be off: nothing for integers. Floating numbers that are within two units of
// the last place are the same; of others the program itself is asked how far rounding takes them:
// run in float64, and run with every rounding off by up to a unit, by chance, also in the backward
// (perturb.hpp). Another way to compute may be 8 times as far off as that, and 8 units of the last
// place, each number by itself; of doubles, of which no wider run says what rounding does inside a
// call (the logarithm of nearly one in log_softmax), 8 units of the largest number of the tensor.
// Where one of two is infinite or NaN, so must these runs be, some and not others.
class Allowance {
 public:
  Allowance(const Program& p, std::size_t setting, bool gradients);
  // The first difference of what two runs show, or nothing.
  std::optional<std::string> difference(const std::vector<Seen>& want, const std::vector<Seen>& got);

 private:
  const Program& p_;
  std::size_t setting_;
  bool gradients_;
  std::optional<std::map<std::string, std::vector<double>>> allowed_;  // by what was seen, each element
  // Elements that are infinite or NaN in some of these runs and numbers in others: a sum that
  // cancels to nothing, or nearly, was divided by.
  std::set<std::pair<std::string, std::size_t>> finite_by_chance_;
  uint64_t variants_ = 3;  // runs with other rounding that it was measured by

  double allowed(const Seen& s, std::size_t i);
  // Few runs may miss what rounding does to a single number: before it is said to differ, more are
  // made.
  bool is_allowed(double off, const Seen& s, std::size_t i);
  void measure();
};

// Writes each result, and finds out which elements of everything change: what aliases what.
std::optional<std::string> aliasing_difference(const Outcome& want, const Outcome& got);

}  // namespace ingot::testing
