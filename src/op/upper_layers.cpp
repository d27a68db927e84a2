#include "op/upper_layers.hpp"

#include "base/error.hpp"
#include "op/call.hpp"
#include "tensor/impl.hpp"

extern "C" [[gnu::weak]] const ingot::UpperLayers* ingot_upper_layers();

namespace ingot {

bool has_upper_layers() { return ingot_upper_layers != nullptr; }

const UpperLayers& upper_layers() {
  INGOT_ENSURE(has_upper_layers(), "a program that needs the tape or vmap should link ingot_setup");
  return *ingot_upper_layers();
}

// ---- members of Tensor. A tensor that the tape keeps nothing on is a leaf that requires no
// gradient.
bool Tensor::requires_grad() const { return defined() && impl()->autograd && upper_layers().requires_grad(*this); }

Tensor& Tensor::requires_grad_(bool on) {
  upper_layers().set_requires_grad(*this, on);
  return *this;
}

bool Tensor::is_leaf() const {
  INGOT_REQUIRE(defined(), "the tensor is undefined: nothing was assigned to it");
  return !impl()->autograd || upper_layers().is_leaf(*this);
}

Tensor Tensor::detach() const { return aten<"detach">(*this); }

}  // namespace ingot
