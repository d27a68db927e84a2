// Modules compiled like functions: their parameters and buffers are arguments before the caller's
// (R005, R006).
#pragma once
#include <vector>

#include "ingot/aot/function.hpp"
#include "ingot/nn/module.hpp"

namespace ingot::aot {

struct ModuleFunction;  // aot/module.hpp of Ingot's own folders

// R005. A function of the module's arguments. Its tensors are those that the module has at the
// call: one that was replaced or converted is an argument like any other, and guards say whether
// the function has to be compiled for it. So do the training flags.
class AotModule {
 public:
  AotModule(ModuleFunction module, AotOptions options);
  Tree operator()(const Tree& arguments) const;  // a tuple
  Tensor operator()(const Tensor& argument) const;  // of a layer

  int id() const { return function_.id(); }

 private:
  std::vector<const Tensor*> members_;
  AotFunction function_;
};

AotModule aot_module(nn::Module& module, TreeFunction forward, AotOptions options = {});
AotModule aot_module(nn::Layer& layer, AotOptions options = {});

// R006. Compiles now, for arguments like the examples: tensors, fakes or other leaves, one for each
// argument of `forward`. Sizes that are open in the fakes stay open (AotOptions::sizes is their
// environment), others do not. The function takes the arguments alone, and reads the module's
// tensors by reference, those that it has now. A call that breaks a guard is a user error that says
// which: compile for such arguments. User error where `forward` returns anything but a tuple or
// list of leaves.
FlatCallable aot_module_simplified(nn::Module& module, const TreeFunction& forward, const Values& examples,
                                   AotOptions options = {});

// The same of a flat function over the tensors of a state, then the arguments: of a graph that was
// captured (src/aot/capture.hpp).
FlatCallable aot_module_simplified(FlatFunction f, const TensorList& state, const Values& examples, AotOptions options = {});

// R007: other names.
AotFunction compiled_function(TreeFunction f, AotOptions options = {});
AotModule compiled_module(nn::Module& module, TreeFunction forward, AotOptions options = {});

}  // namespace ingot::aot
