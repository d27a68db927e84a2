// What op, ops and graph ask of the layers that stand above them: which ops there are, and what
// only the tape and vmap know. They know this interface alone; src/setup, which stands above all of
// them, implements it for the program that links it.
#pragma once
#include <vector>

#include "ingot/transforms.hpp"
#include "ingot/value.hpp"

namespace ingot {

class UpperLayers {
 public:
  // Registers the ops that everybody has and installs the handlers that are always there, by
  // register_ops and install_once alone. The first look-up of an op calls it (op/setup.hpp).
  virtual void set_up() const = 0;

  // ---- the tape. Behind the members of Tensor, which check that there is a tensor
  virtual bool requires_grad(const Tensor& t) const = 0;
  virtual void set_requires_grad(const Tensor& t, bool on) const = 0;
  virtual bool is_leaf(const Tensor& t) const = 0;
  // The gradient of a function of tensors, as a function: it takes the operands of `f` and then a
  // gradient for each of its results, and returns a gradient for each operand that is `wanted`,
  // zeros where `f` does not use it.
  virtual Value gradient_function(const Value& f, std::vector<bool> wanted) const = 0;

  // ---- transforms: that of ingot/transforms.hpp
  virtual TensorFunction vmap(TensorFunction f, VmapOptions options) const = 0;

 protected:
  ~UpperLayers() = default;
};

// Those of this program; internal error in one that links none.
const UpperLayers& upper_layers();
bool has_upper_layers();

}  // namespace ingot

// Defined by src/setup. Nobody refers to it but op, weakly: a program may have op without what
// stands above it.
extern "C" const ingot::UpperLayers* ingot_upper_layers();
