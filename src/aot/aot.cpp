#include "aot/aot.hpp"

#include <mutex>

#include "aot/compile.hpp"
#include "aot/context.hpp"

namespace ingot::aot {
struct AotFunction::State {
  TreeFunction f;
  AotOptions options;
  std::once_flag once;
  TreeSpec inputs, outputs;
  FlatCallable compiled;
};

AotFunction::AotFunction(TreeFunction f, AotOptions options) : state_(std::make_shared<State>()), id_(take_id()) {
  state_->f = std::move(f);
  state_->options = std::move(options);
}

Tree AotFunction::operator()(const Tree& arguments) const {
  State& s = *state_;
  FlatTree flat = flatten(arguments);
  std::call_once(s.once, [&] {
    s.inputs = flat.spec;
    const FlatFunction f = [&s](const Values& leaves) {
      FlatTree out = flatten(s.f(unflatten(leaves, s.inputs)));
      for (const Value& v : out.leaves) require_known_output(v);
      s.outputs = std::move(out.spec);
      return std::move(out.leaves);
    };
    s.compiled = compile(f, flat.leaves, s.options, id_);
  });
  return unflatten(s.compiled(std::move(flat.leaves)), s.outputs);
}

TensorList AotFunction::operator()(const TensorList& arguments) const {
  std::vector<Tree> leaves;
  for (const Tensor& t : arguments) leaves.emplace_back(t);
  const Tree out = (*this)(Tree::list(std::move(leaves)));
  TensorList l;
  for (const Tree& t : out.children()) l.push_back(t.leaf().tensor_or_none());
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
