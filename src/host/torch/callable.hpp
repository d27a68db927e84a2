// A compiled model called with nested arguments (I068 to I071, I112).
#pragma once
#include <map>

#include "graph/tree.hpp"
#include "host/torch/constant_results.hpp"
#include "host/torch/model_container_runner.hpp"

namespace ingot {

class CallableModel {
 public:
  explicit CallableModel(std::shared_ptr<ModelContainerRunner> runner);

  // Positional arguments as a tuple, keyword arguments as a dict in any order. A model without a
  // call specification takes tensors and returns a tuple of them. User error for other keywords or
  // another nesting than the model's, and for another value of an argument that it was compiled for
  // one value of.
  Tree operator()(const Tree& args, const Tree& kwargs = Tree::dict({})) const;

  // Gives constants to the active buffer; keys are original names.
  void load_constants(const ConstantMap& by_fqn, bool check_full_update, bool user_managed = false) {
    runner_->load_constants(by_fqn, false, check_full_update, user_managed);
  }
  ModelContainerRunner& runner() const { return *runner_; }

 private:
  std::shared_ptr<ModelContainerRunner> runner_;
  TreeSpec in_spec_, out_spec_;
  bool has_spec_ = false;
  ConstantResults constant_results_;  // what the library does not return
  std::map<std::size_t, std::string> fixed_;  // by leaf: the one value that the model was compiled for, as text

  TensorList flat_inputs(const Tree& args, const Tree& kwargs) const;
};

// The tree that text of I068 describes; `what` starts messages about it.
TreeSpec parse_call_spec(const std::string& text, const std::string& what);

}  // namespace ingot
