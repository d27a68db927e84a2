#include "nn/gradients.hpp"

#include "autograd/meta.hpp"
#include "ingot/autograd.hpp"

namespace ingot {

void drop_gradients(const TensorList& parameters, bool set_to_none) {
  const NoGrad no_grad;
  for (const Tensor& p : parameters) {
    Tensor g = p.grad();
    if (!g.defined()) continue;
    if (set_to_none) {
      p.set_grad({});
      continue;
    }
    if (g.requires_grad()) g.detach_();
    g.zero_();
  }
}

}  // namespace ingot
