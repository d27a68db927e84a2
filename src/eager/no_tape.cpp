// What ops ask of the tape, where there is none: no tensor requires a gradient. Elsewhere they ask
// the layers above (op/upper_layers.cpp).
#include "ingot/tensor.hpp"

namespace ingot {

bool Tensor::requires_grad() const { return false; }
Tensor& Tensor::requires_grad_(bool) { return *this; }
bool Tensor::is_leaf() const { return true; }
Tensor Tensor::detach() const { return *this; }

}  // namespace ingot
