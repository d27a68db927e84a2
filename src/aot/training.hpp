// A compiled function with gradients: an autograd function over the compiled forward and backward
// (section 10.3).
#pragma once
#include "aot/compiler_run.hpp"
#include "aot/prepared.hpp"
#include "aot/graphs.hpp"
#include "base/once.hpp"
#include "ingot/autograd.hpp"

namespace ingot::aot {

// The backward is compiled when it is first asked for (R151).
class Backward {
 public:
  // Made while the function is compiled. `examples`: of the graph's inputs. `writes_tracked`: it
  // writes an argument of the function that requires grad. `compiled` is called once with the key
  // of the artifact, where it has one (compile_report.hpp).
  Backward(std::shared_ptr<const Graph> graph, Compiler compiler, CompilerRun compiler_run, Values examples, bool writes_tracked,
           std::function<void(const std::string&)> compiled);
  // Of a graph that was compiled before.
  Backward(Boxed compiled, bool writes_tracked);

  void compile();
  // What the graph returns. `tracked`: gradients are to have gradients themselves. User errors
  // where that cannot be (R149), and in deterministic mode if the function was compiled outside of
  // it (R146).
  Values run(Values& arguments, bool tracked);

 private:
  bool writes_tracked_, deterministic_;
  std::function<Boxed()> compile_;  // none: that was done before
  Once once_;
  Boxed compiled_;
};

// Between the caller's tensors and the plain ones of the graphs. A backward may outlive the
// function.
struct Border {
  JointLayouts layouts;
  std::vector<std::size_t> places;  // of the tensors among the arguments
  std::size_t tokens = 0;  // before the inputs and outputs of the forward, and the results of the backward (R168)
};

class Training {
 public:
  // `without_gradient`, by argument: the backward has none for it, so autograd need not know of it
  // (R071).
  Training(Metadata meta, JointLayouts layouts, Boxed forward, int saved_tensors, std::shared_ptr<Backward> backward,
           std::vector<bool> without_gradient);

  Values operator()(Values arguments) const;

 private:
  Metadata meta_;
  std::shared_ptr<const Border> border_;
  Boxed forward_;
  std::size_t saved_tensors_;
  std::shared_ptr<Backward> backward_;
  std::vector<bool> without_gradient_;
  std::vector<std::size_t> tracked_;  // of what the forward returns, in the order of the tangents
  std::vector<bool> refuses_writes_;  // by those: a view that autograd lets nobody write, and so should know as a view

  TensorList run_forward(FunctionContext& c, Values arguments, Values& results) const;
};

}  // namespace ingot::aot
