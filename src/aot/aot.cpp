#include "aot/aot.hpp"

#include "aot/compile.hpp"
#include "aot/context.hpp"
#include "base/once.hpp"

namespace ingot::aot {
namespace {

// How they are nested was seen at the first call, and is not looked at again.
void add_leaves(const Tree& tree, Values& leaves) {
  if (tree.is_leaf()) return leaves.push_back(tree.leaf());
  for (const Tree& child : tree.children()) add_leaves(child, leaves);
}

}  // namespace

struct AotFunction::State {
  TreeFunction f;
  AotOptions options;
  Once once;
  TreeSpec inputs, outputs;
  FlatCallable compiled;

  void compile_for(TreeSpec spec, const Values& arguments, int id) {
    inputs = std::move(spec);
    const FlatFunction flat = [this](const Values& leaves) {
      FlatTree out = flatten(f(unflatten(leaves, inputs)));
      for (const Value& v : out.leaves) require_known_output(v);
      outputs = std::move(out.spec);
      return std::move(out.leaves);
    };
    compiled = compile(flat, arguments, options, id);
  }
};

AotFunction::AotFunction(TreeFunction f, AotOptions options) : state_(std::make_shared<State>()), id_(take_id()) {
  state_->f = std::move(f);
  state_->options = std::move(options);
}

Tree AotFunction::operator()(const Tree& arguments) const {
  State& s = *state_;
  Values leaves;
  leaves.reserve(arguments.is_leaf() ? 1 : arguments.children().size());
  add_leaves(arguments, leaves);
  s.once.run([&] { s.compile_for(flatten(arguments).spec, leaves, id_); });
  return unflatten(s.compiled(std::move(leaves)), s.outputs);
}

TensorList AotFunction::operator()(const TensorList& arguments) const {
  State& s = *state_;
  Values leaves(arguments.begin(), arguments.end());
  s.once.run([&] { s.compile_for(flatten(Tree::list({arguments.begin(), arguments.end()})).spec, leaves, id_); });
  const Values results = s.compiled(std::move(leaves));
  TensorList l;
  l.reserve(results.size());
  for (const Value& v : results) l.push_back(v.tensor_or_none());
  return l;
}

AotFunction aot_function(TreeFunction f, AotOptions options) { return {std::move(f), std::move(options)}; }

AotFunction aot_function(const TensorFunction& f, AotOptions options) {
  return aot_function(
      [f](const Tree& arguments) {
        TensorList in;
        for (const Tree& t : arguments.children()) in.push_back(t.leaf().tensor());
        std::vector<Tree> out;
        for (const Tensor& t : f(in)) out.push_back(t.defined() ? Tree(t) : Tree());
        return Tree::list(std::move(out));
      },
      std::move(options));
}

}  // namespace ingot::aot
