// A tensor as the variable of a transform: its history begins with a node of the transform's own,
// so gradients are asked for there and nowhere else. What is computed from it keeps the history
// that the tensor has outside.
#pragma once
#include "autograd/meta.hpp"

namespace ingot {

class InnerVariable final : public GradNode {
 public:
  explicit InnerVariable(const Tensor& outside) {
    edges = {edge_of(outside)};
    results = {outside->geom};
  }
  std::string name() const override { return "InnerVariable"; }
  TensorList apply(const TensorList& grads, const std::vector<bool>&) override { return grads; }

  // Another handle to `outside` whose history is this node.
  Tensor variable(const Tensor& outside) {
    const Tensor inside = detached(outside);
    inside->inference = false;  // the transform has a tape, whatever there is outside
    set_history(inside, Ref<GradNode>(this), 0);
    return inside;
  }
  // While the transform runs, what leads here is of interest to somebody.
  bool open = true;
};

}  // namespace ingot
