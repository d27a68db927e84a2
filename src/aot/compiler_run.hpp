// How compilers are run: what holds while one runs, and while what it made runs.
#pragma once
#include "aot/aot.hpp"
#include "aot/context.hpp"

namespace ingot::aot {

// Made while the function is traced. The backward is compiled when it is first asked for,
// maybe on another thread, and finds what held then (R151).
class CompilerRun {
 public:
  CompilerRun(int id, std::shared_ptr<ShapeEnv> sizes);

  int id() const { return id_; }
  // In context {id}_{kind} (R194), with questions about sizes going to the function's environment,
  // with autocast off if the function was traced under autocast: the casts are in the graph. What
  // the compiler made runs without autocast, too (R132, R202).
  Boxed operator()(const Compiler& compiler, const std::shared_ptr<const Graph>& graph, const Values& examples,
                   GraphKind kind) const;
  // The same for both graphs of a function with gradients, in the forward's context.
  BoxedPair operator()(const PairCompiler& compiler, const GraphPair& graphs) const;

 private:
  int id_;
  std::shared_ptr<ShapeEnv> sizes_;
  bool autocast_;
};

// What was compiled for the state of autocast that holds now (R132, R191): it runs without
// autocast.
Boxed without_autocast(Boxed run);

}  // namespace ingot::aot
