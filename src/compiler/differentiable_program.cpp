#include "compiler/differentiable_program.hpp"

#include "compiler/aot_compiler.hpp"

namespace ingot {
namespace {

// The program's tensors in `state`, by name, replaced while this lives.
class ReplacedState {
 public:
  ReplacedState(Program& program, const std::vector<std::string>& names, std::span<const Tree> now) : program_(program) {
    for (std::size_t k = 0; k < names.size(); k++)
      before_.emplace_back(names[k], std::exchange(program.state.at(names[k]).tensor, now[k].leaf().tensor()));
  }
  ~ReplacedState() {
    for (auto& [name, tensor] : before_) program_.state.at(name).tensor = std::move(tensor);
  }
  ReplacedState(const ReplacedState&) = delete;
  ReplacedState& operator=(const ReplacedState&) = delete;

 private:
  Program& program_;
  std::vector<std::pair<std::string, Tensor>> before_;
};

// A result of a program may be a list of tensors.
Tree as_tree(const Value& v) {
  if (!v.is_tensors()) return v;
  std::vector<Tree> leaves;
  for (const Tensor& t : v.tensors()) leaves.emplace_back(t);
  return Tree::list(std::move(leaves));
}

}  // namespace

Values run_differentiable(Program& program, Args inputs, const CompileOptions& options) {
  std::vector<std::string> names;
  std::vector<Tree> given(inputs.begin(), inputs.end());
  for (const auto& [name, entry] : program.state) {
    if (!entry.tensor.defined()) continue;
    names.push_back(name);
    given.emplace_back(entry.tensor);
  }
  const TreeFunction f = [&](const Tree& arguments) {
    const std::vector<Tree>& leaves = arguments.children();
    const ReplacedState state(program, names, std::span(leaves).subspan(inputs.size()));
    Values user;
    for (std::size_t k = 0; k < inputs.size(); k++) user.push_back(leaves[k].leaf());
    std::vector<Tree> results;
    for (const Value& v : program.run(user)) results.push_back(as_tree(v));
    return Tree::list(std::move(results));
  };
  return flatten(aot::memory_efficient_fusion(f, options)(Tree::list(std::move(given)))).leaves;
}

}  // namespace ingot
