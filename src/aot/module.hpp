// Modules as functions of their state, which is how they are compiled (ingot/aot/module.hpp).
#pragma once
#include "aot/aot.hpp"
#include "aot/prepared.hpp"
#include "ingot/aot/module.hpp"
#include "ingot/nn.hpp"

namespace ingot::aot {

// A module as a function of its state.
struct ModuleFunction {
  std::vector<std::string> parameters, buffers;  // names: "encoder.weight"
  TensorList state;                              // the parameters, then the buffers; a tensor of two names is there twice
  std::vector<const Tensor*> members;            // where the module keeps them
  std::vector<const nn::Module*> modules;        // the module and all below
  TreeFunction f;                                // of a tuple: a tensor for each of `state`, then the module's own arguments
};

// `forward` is what the module does with a tuple of arguments; it is called while the module's
// members are the tensors given for them. The module must outlive the function. User error for a
// parameter or buffer that is a fake.
ModuleFunction as_function(nn::Module& module, TreeFunction forward);
// Of a layer: one tensor to one tensor.
TreeFunction forward_of(nn::Layer& layer);

}  // namespace ingot::aot
