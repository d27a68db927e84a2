// The harness V of the dispatch specification (H01 to H13): a function and its compiled form run on
// copies of the same inputs, and everything a caller could see of them is compared. So are the
// forms of the derived suites, which traces name A022.F and A022.C (section 4).
#pragma once
#include <gtest/gtest.h>

#include "aot/inputs.hpp"
#include "aot/module.hpp"
#include "autograd/meta.hpp"
#include "base/dtype.hpp"
#include "graph/text.hpp"
#include "ingot/autograd.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"
#include "support/wrappers.hpp"

namespace ingot::aot {

struct V {
  bool mut = false;  // H03: graph inputs are x + 1, and outputs are written afterwards (H09)
  bool sub = false;  // H04: the factory's tensors are TwoTensors
  bool keep = false;  // H01: only with keep_inference_input_mutations
  bool dynamic = false;
  bool derived = true;  // the forms .F and .C, too
  // An input begins to require grad: no graph says so, and below the guards, where V compares
  // (H05), the caller's stays as it was, as the reference's does. AotVariants has what users call.
  bool begins_to_require_grad = false;
  std::string error = {};  // every form refuses the function with these words instead
  const Decompositions* decompositions = nullptr;
  Partitioner partition = partition_default;
};

class AotHarness : public NoLeaks {
 protected:
  using Function = std::function<TensorList(const TensorList&)>;

  // H04: what gradients are compared of, and what the function is called with.
  struct Made {
    TensorList leaves, inputs;
  };
  using Factory = std::function<Made()>;

  // H11: the forward graph of the last run.
  std::string verify(const Function& f, const TensorList& inputs, V flags = {});
  std::string verify_tree(const TreeFunction& f, const Values& inputs, V flags = {});
  std::string verify_tree(const TreeFunction& f, const Tree& arguments, V flags = {});
  std::string verify(const Function& f, const Factory& factory, V flags = {});

  // The same of a module, made anew for each side from one seed: its parameters and buffers are
  // leaves, too. `make` returns a pointer to it, `forward` says what it does with a tuple of
  // arguments.
  template <class Make, class Forward>
  std::string verify_module(const Make& make, const Forward& forward, const TensorList& inputs, V flags = {}) {
    return verify_made(
        [&] {
          std::shared_ptr module = make();
          return Module{module, [module, forward](const Tree& args) { return Tree(forward(*module, args)); }};
        },
        inputs, flags);
  }
  // Of a layer.
  template <class Make>
  std::string verify_layer(const Make& make, const TensorList& inputs, V flags = {}) {
    return verify_module(make, [](auto& layer, const Tree& args) { return Tree(layer(args[0].leaf().tensor())); }, inputs, flags);
  }

  // A compiler that stores the text of the graph it is given.
  static Compiler capture(std::string& graph);

  static void expect_same(const Tensor& want, const Tensor& found, const std::string& what);

 private:
  struct Module {
    std::shared_ptr<nn::Module> module;
    TreeFunction forward;
  };
  std::string verify_made(const std::function<Module()>& make, const TensorList& inputs, V flags);
};

}  // namespace ingot::aot
