// The node at the end of every path: adds the gradient to its leaf.
#pragma once
#include "autograd/meta.hpp"

namespace ingot {

class AccumulateGrad final : public GradNode {
 public:
  explicit AccumulateGrad(const Tensor& leaf);
  ~AccumulateGrad() override;
  std::string name() const override { return "AccumulateGrad"; }
  TensorList apply(const TensorList& grads, const std::vector<bool>& need) override;
  void run_hooks(TensorList& grads) override;  // those of the leaf: the node itself comes and goes
  const Tensor& leaf() const { return leaf_; }

 private:
  Tensor leaf_;
};

// The one AccumulateGrad of a leaf; made on first use, alive while a graph points to it.
Ref<GradNode> accumulate_node(const Tensor& leaf);

}  // namespace ingot
