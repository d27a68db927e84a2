// Random programs for comparing two ways to run them. A program is a value: it can be run on
// tensors, printed, and made smaller.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ingot/value.hpp"

namespace ingot::testing {

// A number, or a size of a tensor of the pool, so that a program says what it means for every size.
struct SizeArg {
  SizeArg(int64_t number) : number(number) {}
  SizeArg(int tensor, int dim) : tensor(tensor), dim(dim) {}
  int64_t number = 0;
  int tensor = -1;  // -1: the number
  int dim = 0;
};
// An argument of a call. Tensors are named by their place in a pool that starts with the inputs and
// grows by every result.
struct StepArg {
  enum class Kind : uint8_t { value, tensor, tensors, size, sizes };
  template <class V>
    requires std::convertible_to<V, Value>
  StepArg(V&& v) : value(std::forward<V>(v)) {}
  StepArg(Kind kind, std::vector<int> tensors) : kind(kind), tensors(std::move(tensors)) {}
  StepArg(Kind kind, std::vector<SizeArg> sizes) : kind(kind), sizes(std::move(sizes)) {}
  Kind kind = Kind::value;
  Value value;
  std::vector<int> tensors;
  std::vector<SizeArg> sizes;
};
StepArg tensor_arg(int k);
StepArg tensors_arg(std::vector<int> l);
StepArg size_arg(int tensor, int dim);
StepArg sizes_arg(std::vector<SizeArg> l);

struct Step {
  std::string op;  // of ATen, or one of program_functions()
  std::vector<StepArg> args;
  int out = -1;  // the tensor of out=
  bool no_grad = false;
  bool rounds = false;  // its floating results are rounded, so another way to compute them may be off
  // Tensors first, then everything else.
  static Step of(std::string op, const std::vector<int>& tensors, const Values& rest = {});
};

// What no op is: control flow, whose functions stand in C++ in `code`.
struct ProgramFunction {
  const char* name;
  TensorList (*run)(const TensorList&);
  const char* code;
};
const std::vector<ProgramFunction>& program_functions();

struct Base {
  std::vector<int64_t> sizes;  // -1 - k is the open size k
  DType dtype = DType::f32;
  bool requires_grad = false;
  bool leaf = false;   // the program gets it as it is; otherwise it is a leaf times one, so that it may be written
  int64_t below = 0;   // integers: 0 … below - 1
  double shift = 0;    // added to values that are drawn: one sign, or far from zero
  bool is_weight = false;  // a parameter, where the program is run as a module
};
// An input is what some views make of a base.
struct ProgramInput {
  int base = 0;
  std::vector<Step> views;
};
struct Program {
  uint64_t seed = 0;
  std::vector<Base> bases;
  std::vector<std::vector<int64_t>> settings = {{}};  // values of the open sizes; a program is made for the first of them
  int64_t least = 2;  // the smallest value of an open size that the program is compiled for
  std::vector<ProgramInput> inputs;
  std::vector<Step> body;
  std::vector<int> outputs;
  bool wrapped = false;  // inputs are TwoTensors
  bool grid = true;      // the values of floating bases: 0.1 i + 0.05, or drawn from the seed
};

struct ProgramInputs {
  TensorList leaves;  // by base; what gradients accumulate into
  TensorList bases;
  TensorList inputs;
};

// Programs of views, writes and arithmetic over inputs that alias each other: 3 to 30 calls, each
// of which runs eagerly, and at least one result. The same on every machine.
Program random_program(uint64_t seed);
Program open_random_program(uint64_t seed);  // sizes of bases stay open, with further settings
// Programs of every family of ops that users write, over every kind of dtype, sizes 0 and 1 among
// them. `open`: sizes stay open, with further settings; otherwise they are numbers.
struct WideOptions {
  bool open = false;
  bool writes = true;  // in place, out=, and views in place
  bool random = true;  // ops that draw numbers
  bool layers = false;  // of networks: weights and buffers among the inputs, and more convolutions and normalizations
  // Sees every call that was tried and that eager refuses, as the last one of the program so far,
  // and why.
  std::function<void(const Program&, const std::string&)> refused = {};
};
Program wide_program(uint64_t seed, WideOptions options = {});

// Programs of few calls over rows of up to 1e6 elements, rarely 1e7, of one sign and of both, where
// what is computed is a question of how it is summed: sums, means, variances, norms, softmax,
// products over the long dim, running sums, and elementwise ops around them.
Program long_rows_program(uint64_t seed);
Program open_long_rows_program(uint64_t seed);  // for open lengths, with shorter and longer ones

// Fresh inputs, the same values each time. `gradients`: bases require grad where the program says
// so.
struct RunOptions {
  bool wide = false;  // float64 in the place of every floating type, complex128 of every complex one
  uint64_t perturb = 0;  // not 0: whatever is rounded is off by up to one unit of its last place, as this seed says
};
struct InputOptions {
  bool gradients = true;
  std::size_t setting = 0;
  RunOptions run = {};
};
ProgramInputs make_inputs(const Program& p, const InputOptions& options = {});
// The sizes of a base, and what it holds where its values are drawn: in float64 or complex128,
// whatever its dtype rounds them to.
Shape sizes_of(const Program& p, std::size_t base, std::size_t setting);
struct DrawnBase {
  uint64_t seed = 0;  // of the program
  std::size_t base = 0;
  DType dtype = DType::f32;
  int64_t below = 0;  // Base's, as is the next
  double shift = 0;
};
Tensor drawn_values(const DrawnBase& of, const Shape& sizes);
TensorList run(const Program& p, const TensorList& inputs, const RunOptions& options = {});
// Every value of the program, inputs first.
TensorList run_all(const Program& p, const TensorList& inputs, const RunOptions& options = {});
// Adds what the call makes to the pool.
void execute(const Step& s, TensorList& pool, const RunOptions& options = {});

// As a person reads it; as C++ that can be compiled in a test, two functions that make the inputs
// at the first sizes and run; as a function over torch.ops.aten; as the graph that make_fx records,
// or why there is none.
std::string to_text(const Program& p);
std::string to_cpp(const Program& p);
std::string to_cpp(const Program& p, const std::string& name);  // in a namespace
std::string to_python(const Program& p, bool last_is_refused = false);  // the last call makes nothing that could be named then
std::string to_python(const Step& s, int first, int made);  // which makes t{first} …
std::string to_fx(const Program& p);

// The program without calls that draw numbers nobody uses: a graph leaves them out, and the random
// stream would be elsewhere afterwards.
Program without_unused_draws(const Program& p);
// The program without calls that neither a result nor an input shows anything of: a compiled
// program does not make them, so that it does not refuse what they would refuse.
Program without_dead_calls(const Program& p);
// Whether a call makes another number of values than at the sizes that the program was made for (a
// split has fewer pieces): numbers of values mean others after it, and which calls are dead is not
// known.
bool makes_other_values(const Program& p, const InputOptions& options);
// Whether the call that eager refuses is one of which nobody reads more than a size: compiled it is
// not made.
bool refuses_unread(const Program& p, const InputOptions& options);
// The smallest program found by leaving out calls, results, inputs and settings, and by making
// sizes and dtypes simpler, for which `fails` holds still.
Program shrink(Program p, const std::function<bool(const Program&)>& fails);

}  // namespace ingot::testing
