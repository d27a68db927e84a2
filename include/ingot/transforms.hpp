// Transforms: functions of tensors to functions of tensors. They nest in any order, with each other
// and with themselves:
//
//   TensorFunction loss = [](const TensorList& in) { return TensorList{(in[0] * in[1]).sin().sum()}; };   // (weight, sample)
//   TensorList g = vmap(grad(loss), {.in_dims = {std::nullopt, 0}})({weight, samples});                    // a gradient for every sample
//   GraphFunction graph = make_fx(functionalize(grad(loss)), {weight, sample});                           // as a graph: graph.text(), graph({…})
//
// Functions of one tensor or several to a tensor may be written as such (ingot/tensor_call.hpp):
//
//   Tensor g = vmap(grad([](const Tensor& w, const Tensor& x) { return (w * x).sin().sum(); }), {.in_dims = {std::nullopt, 0}})(weight, samples);
//
// examples/transforms.cpp runs them. Control flow that a graph keeps is in ingot/control_flow.hpp.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ingot/tensor_call.hpp"

namespace ingot {

// ---- vmap: a function of tensors becomes one that does the same for every member of a batch,
// without a loop

// What random ops do inside vmap: refuse, draw for every member, or draw once for all of them.
enum class Randomness : uint8_t { error, different, same };

struct VmapOptions {
  // By argument: the dim its members lie along, counted from the end if negative; nothing: every
  // member sees the whole tensor. One entry stands for all arguments. The same for results; a
  // result without a dim must not depend on the batch.
  std::vector<std::optional<int64_t>> in_dims = {0};
  std::vector<std::optional<int64_t>> out_dims = {0};
  Randomness randomness = Randomness::error;
};

// vmap(f)(x) is stack(f(x[0]), f(x[1]), …). `f` may call anything, also other transforms; each op
// runs once for the whole batch by its batching rule, or once for each member where it has none,
// which is said once to the log. Views of arguments alias them and writes into them are seen by the
// caller, as in the loop. A cond whose predicate differs by member runs both functions and chooses
// among their results. Custom functions and hooks see members, too, and run once for all of them;
// the gradient of a tensor that all members share is the sum of theirs. User errors, in PyTorch's
// words: reading a member's data as a number, results whose size depends on data, a write of a
// mapped value into a tensor that is not mapped, random ops unless `randomness` allows them.
TensorFunction vmap(TensorFunction f, VmapOptions options = {});
template <OfTensors F>
TensorCall<ResultOf<F>, kArgumentsOf<F>> vmap(F f, VmapOptions options = {}) {
  return TensorCall<ResultOf<F>, kArgumentsOf<F>>(vmap(over_lists(std::move(f)), std::move(options)));
}

// ---- derivatives. They differ from `backward` in that nothing is accumulated, arguments need not
// require grad, and grad mode outside does not turn them off. Inside of a transformed function
// backward() is refused, as by PyTorch; so are, of a tensor that is vmapped over, requires_grad_()
// and retain_grad()

// f at a point, and the linear function that takes gradients of its results to gradients of its
// arguments.
struct Pullback {
  TensorList results;
  // One cotangent for each result; one gradient for each argument, zeros where the argument is not
  // used. May be called again.
  TensorFunction pull;
};
Pullback vjp(const TensorFunction& f, const TensorList& at);

// The gradient of f's one scalar result with respect to the arguments `which`.
TensorFunction grad(TensorFunction f, std::vector<int> which = {0});
// With respect to the first argument, or to several.
template <OfTensors F>
TensorCall<Tensor, kArgumentsOf<F>> grad(F f) {
  return TensorCall<Tensor, kArgumentsOf<F>>(grad(over_lists(std::move(f))));
}
template <OfTensors F>
TensorCall<TensorList, kArgumentsOf<F>> grad(F f, std::vector<int> which) {
  return TensorCall<TensorList, kArgumentsOf<F>>(grad(over_lists(std::move(f)), std::move(which)));
}
// The same, with the value of f after the gradients.
TensorFunction grad_and_value(TensorFunction f, std::vector<int> which = {0});

// f at a point, and the linear function that takes changes of the arguments to changes of the
// results.
struct Linearized {
  TensorList results;
  TensorFunction push;  // one tangent for each argument; one for each result. May be called again
};
Linearized linearize(const TensorFunction& f, const TensorList& at);
// f at a point, and how its results change as the arguments move along `tangents`.
struct Pushforward {
  TensorList results, tangents;
};
Pushforward jvp(const TensorFunction& f, const TensorList& at, const TensorList& tangents);

// Jacobians of f's results with respect to argument `which`: for each result a tensor of size
// (result's sizes, argument's sizes). jacrev makes all rows at once from results to arguments,
// jacfwd all columns from arguments to results.
TensorFunction jacrev(TensorFunction f, int which = 0);
TensorFunction jacfwd(TensorFunction f, int which = 0);
// The second derivatives of f's results: jacfwd of jacrev.
TensorFunction hessian(TensorFunction f, int which = 0);
template <OfTensors F>
TensorCall<ResultOf<F>, kArgumentsOf<F>> jacrev(F f, int which = 0) {
  return TensorCall<ResultOf<F>, kArgumentsOf<F>>(jacrev(over_lists(std::move(f)), which));
}
template <OfTensors F>
TensorCall<ResultOf<F>, kArgumentsOf<F>> jacfwd(F f, int which = 0) {
  return TensorCall<ResultOf<F>, kArgumentsOf<F>>(jacfwd(over_lists(std::move(f)), which));
}
template <OfTensors F>
TensorCall<ResultOf<F>, kArgumentsOf<F>> hessian(F f, int which = 0) {
  return TensorCall<ResultOf<F>, kArgumentsOf<F>>(hessian(over_lists(std::move(f)), which));
}

// ---- functionalize: a function without views of its arguments and without writes, that does what
// `f` does

struct FunctionalizeOptions {
  // For export: a conversion (`to` and its like) is always a copy, dropout stays an op where
  // composites are kept, and what either of them makes takes no writes.
  bool exporting = false;
  // Whether anybody counts the writes to an argument. If not, one that looks afterwards as it did
  // before is left alone, whatever in-place views it went through.
  bool counts_writes = true;
};

// The function runs `f` on functional tensors and then, in this order: writes what `f` wrote into
// its arguments with one copy_ each (arguments that share storage are written as one), gives
// arguments the sizes, strides or storage that `f` gave them, and makes results that are views of
// arguments again as views of them. So a caller sees the same values, the same writes and the same
// aliasing as from `f`; what runs, and what a trace of it records, is a program of values with
// copy_, in-place views and set_ on the arguments alone. Gradients flow through it. Examples in
// docs/ir.md. User errors: writes through as_strided of a view, to a tensor whose storage set_ took
// away or export froze, and to a tensor that `f` brings along; a resize_ of a view to a larger
// size.
TensorFunction functionalize(TensorFunction f, FunctionalizeOptions options = {});

// ---- make_fx: a function as a graph of ops

// What the function sees while it is recorded.
enum class TraceWith : uint8_t {
  fakes,  // tensors without bytes: nothing is computed
  symbols,  // the same, and every size but 0 and 1 is open; equal sizes are one symbol
  data,  // the examples' own bytes: the function runs while it is recorded
};

struct Traced;  // graph/trace.hpp, for compilers: the graph itself

// A recorded function. Copies are one graph.
class GraphFunction {
 public:
  // Runs the graph, op by op; gradients are recorded as in any program. User error for arguments
  // that the graph is not right for: another number, type or size than the examples', or sizes that
  // break a guard of the recording.
  TensorList operator()(const TensorList& arguments) const;
  // As PyTorch FX prints it; docs/ir.md has the grammar.
  std::string text() const;
  // The symbols with their ranges, and what the function was found to need of them, a line each.
  // Empty without open sizes.
  std::string guards() const;

  explicit GraphFunction(std::shared_ptr<const Traced> traced) : traced_(std::move(traced)) {}
  const Traced& traced() const { return *traced_; }

 private:
  std::shared_ptr<const Traced> traced_;
};

struct MakeFxOptions {
  TraceWith with = TraceWith::fakes;
  bool pre_dispatch = false;  // ops that are programs of other ops stay whole where they neither alias nor write
};
// A write is recorded as such; make_fx(functionalize(f), …) has none but to arguments. User errors:
// a value read as a number where that needs data, an open size that does not fit its example.
GraphFunction make_fx(const TensorFunction& f, const TensorList& examples, MakeFxOptions options = {});

}  // namespace ingot
