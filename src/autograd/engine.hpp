// Runs the tape backwards.
#pragma once
#include "autograd/meta.hpp"

namespace ingot {

struct BackwardOptions {
  bool retain_graph = false;
  bool create_graph = false;
};

// Accumulates into leaves (`captures` empty) or returns the gradients that arrive at `captures`,
// running only nodes that lead to them. Seeds are gradients of the roots' results.
TensorList run_backward(const std::vector<Edge>& roots, const TensorList& seeds, const std::vector<Edge>& captures,
                        BackwardOptions options);

// In the scope gradients are computed to be differentiated by the gradients they are made of: jvp
// is the pullback of the pullback. A backward or a hook of the program's own must then return
// something that depends on what it got, or the derivative would be lost.
class LinearScope {
 public:
  LinearScope();
  ~LinearScope();
  LinearScope(const LinearScope&) = delete;
  LinearScope& operator=(const LinearScope&) = delete;

 private:
  bool old_;
};
// Zeros, for a result that was not used. In such a scope they have a history, which ends with them:
// what is made of them is no lost derivative.
Tensor unused_gradient(const Geometry& of);
// User error if `returned`, which `who` made of gradients of which one at least has a history, has
// none.
void check_linear(const TensorList& given, const Tensor& returned, const std::string& who);

// Whether the node that runs on this thread runs for the last time: what it saved is released after
// it.
bool& graph_ends();

}  // namespace ingot
