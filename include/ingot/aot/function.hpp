// A function compiled ahead of its runs: traced once, with its gradients where they are wanted,
// handed to compilers as graphs of values, and run from then on by what they made, with every
// effect the function has on its arguments (sections 1, 6, 10).
//
//   const aot::AotFunction f = aot::aot_function(loss, {.forward = aot::nop});
//   const Tensor y = f(Tree::tuple({x, w})).leaf().tensor();   // compiles at the first call
//   y.backward();                                              // and the backward at the first backward
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "ingot/decompositions.hpp"
#include "ingot/nn/training_flag.hpp"
#include "ingot/transforms.hpp"
#include "ingot/tree.hpp"

namespace ingot {
class Graph;     // graph/graph.hpp of Ingot's own folders: what compilers see
class ShapeEnv;  // graph/shape_env.hpp
}  // namespace ingot

namespace ingot::aot {

class AotCache;
struct Joint;
struct Parts;
struct TracingContext;

// A function over flat lists: tensors and other leaves. What runs in its place once it is compiled:
// arguments that the caller moves in are let go as soon as nobody needs them (R131).
using FlatFunction = std::function<Values(const Values&)>;
using FlatCallable = std::function<Values(Values)>;

// A compiled graph: takes one list of arguments, which it may empty, and returns one value for each
// output (R130).
using Boxed = std::function<Values(Values&)>;
// Makes a graph run. `examples` are fakes of its inputs. Where its code returns tensors with other
// strides than the graph's, it says so (report_output_strides of src/aot/compile_report.hpp).
using Compiler = std::function<Boxed(std::shared_ptr<const Graph> graph, const Values& examples)>;
// The same for the two graphs of a function with gradients at once.
struct GraphPair {
  std::shared_ptr<const Graph> forward, backward;
  Values forward_examples, backward_examples;
};
struct BoxedPair {
  Boxed forward, backward;
  // Without a backward: why it has no compiled form. Its own compiler is called when gradients are
  // asked for.
  std::string why_alone = {};
};
using PairCompiler = std::function<BoxedPair(const GraphPair& graphs)>;
// Cuts a joint graph in two (ingot/aot/partition.hpp).
using Partitioner = std::function<Parts(const Joint& joint)>;
Partitioner default_partitioner();

// The graph is run as it is, op by op (R007).
Boxed nop(std::shared_ptr<const Graph> graph, const Values& examples);

struct AotOptions {
  Compiler forward = nop;
  Compiler backward = {};  // without one, as the forward
  Compiler inference = {};  // without one, as the forward
  // Both graphs of a function with gradients, when it is compiled. Where it fails with a user
  // error, or where there is none, `forward` is called, and `backward` when gradients are asked
  // for; the latter also where it makes the forward alone.
  PairCompiler together = {};
  Partitioner partition = default_partitioner();
  const Decompositions* decompositions = nullptr;
  int params_and_buffers = 0;  // how many leading arguments are
  bool static_weight_shapes = true;  // their sizes are no symbols
  bool keep_inference_input_mutations = false;  // writes to inputs are in the graph where they can be
  bool dynamic = false;  // sizes are symbols, and so are integers
  bool one_symbol_for_equal_sizes = true;  // otherwise each size has its own, and the graph says which of them are equal
  std::shared_ptr<ShapeEnv> sizes =
      {};  // that the open sizes of arguments that are fakes belong to; without one, the function makes its own
  int most_sharing_with_open_sizes = 5;  // arguments on one storage of which one is written; more are refused (R084)
  bool view_replay_for_aliased_outputs =
      true;  // a view is taken again by the steps it was taken by; otherwise by its geometry (R157)
  bool unlift_effect_tokens = false;  // tokens of ordered effects are made and consumed in the graph (R168)
  bool functionalize_rng_ops = false;  // the state of the random stream is an argument of the graphs: with CUDA (R167)
  std::shared_ptr<AotCache> cache = {};  // of functions compiled before: for aot_module_simplified (ingot/aot/cache.hpp)
  std::shared_ptr<TracingContext> context = {};  // what a front end knows, and is told (src/aot/tracing_context.hpp)
  bool debug_assert =
      false;  // every call is checked by the specification's assertions, in the place of guards (src/aot/debug_assert.hpp)
  bool enable_log = true;  // graphs and records are printed if INGOT_LOG asks for it (src/aot/log.hpp)
  std::function<void(const std::string&)> log = {};  // is told of what went wrong and does not matter yet; without one, the log
  // Every call is checked against what was assumed when the function was compiled
  // (src/aot/guards.hpp). A call that breaks a guard is compiled for, or refused where the entry
  // compiles at once. Without guards, or with debug_assert in their place, whoever calls answers
  // for that, as a front end with guards of its own does, and a call that breaks an assumption has
  // wrong results without a word (R001, R198).
  bool guards = true;
  int most_variants = 8;  // that one function is compiled for; where more are asked for, it is run as it is
  // Whose training flags are guards, also where the function does not read them while it is traced;
  // those that it reads are in any case, without being named. aot_module adds its own. From a list
  // of modules (Module::modules), which are not looked at again.
  nn::TrainingFlags modules = {};
};

// R001. Compiles at the first call, of that call's arguments, and again for a call that breaks a
// guard of every variant that there is: AotOptions::most_variants times. Calls that fit none of
// them then run the function op by op, as do calls under vmap, in another compilation, which takes
// the function in, or in a trace with open sizes. INGOT_LOG=guards says which guard, what was
// expected and what was found. Any number of threads may call; one at a time compiles, and the
// others do not wait for it where they have a variant that fits.
//
// Modules that the function brings along must be there when it is called. One that is gone since
// has been replaced by another, which the function is compiled again for; a call is refused where
// nothing but the end of a module keeps it from a variant, and there is no other module that the
// function could read.
class AotFunction {
 public:
  AotFunction(TreeFunction f, AotOptions options);
  Tree operator()(const Tree& arguments) const;
  TensorList operator()(const TensorList& arguments) const;  // of a function over a list that returns a list

  int id() const { return id_; }  // R002
  int variants() const;  // that there are by now

 private:
  struct State;
  std::shared_ptr<State> state_;
  int id_;
};

AotFunction aot_function(TreeFunction f, AotOptions options = {});
AotFunction aot_function(const TensorFunction& f, AotOptions options = {});

}  // namespace ingot::aot
