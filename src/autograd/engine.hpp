// Runs the tape backwards.
#pragma once
#include "autograd/meta.hpp"

namespace ingot {

struct BackwardOptions {
  bool retain_graph = false;
  bool create_graph = false;
};

// Accumulates into leaves (`captures` empty) or returns the gradients that arrive at `captures`, running only nodes that
// lead to them. Seeds are gradients of the roots' results.
TensorList run_backward(const std::vector<Edge>& roots, const TensorList& seeds, const std::vector<Edge>& captures,
                        BackwardOptions options);

}  // namespace ingot
