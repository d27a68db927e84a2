#include "aot/module.hpp"

#include <algorithm>

#include "aot/compile.hpp"
#include "aot/context.hpp"
#include "aot/inputs.hpp"
#include "base/error.hpp"
#include "ingot/aot/cache.hpp"

namespace ingot::aot {
namespace {

void require_data(const nn::NamedTensors& tensors, std::string_view what) {
  for (const auto& [name, t] : tensors)
    INGOT_REQUIRE(!t->is_fake(), "Unexpected fake ", what, " ", name,
                  ": a module is compiled with the data of its tensors, and this one has none. Make the module "
                  "outside of tracing, and pass fakes as arguments only.");
}

Tree arguments_of(const Tree& all, std::size_t first) {
  return Tree::tuple({all.children().begin() + static_cast<std::ptrdiff_t>(first), all.children().end()});
}

AotOptions with_state(AotOptions options, std::size_t tensors) {
  options.params_and_buffers = static_cast<int>(tensors);
  return options;
}
AotOptions with_modules(AotOptions options, const std::vector<const nn::Module*>& modules) {
  options.modules.add(modules);
  return options;
}

Values joined(const TensorList& state, Values arguments) {
  Values all(state.begin(), state.end());
  all.insert(all.end(), std::move_iterator(arguments.begin()), std::move_iterator(arguments.end()));
  return all;
}

// Outputs of a simplified module: leaves in one tuple or list, so that nobody need rebuild
// containers.
Values flat_outputs(const Tree& out) {
  INGOT_REQUIRE(
      out.type() == tree_types::kTuple || out.type() == tree_types::kList,
      "Graph output must be a tuple(). This is so that we can avoid pytree processing of the outputs. Please change the module to have tuple "
      "outputs or use aot_module instead.");
  Values leaves;
  for (const Tree& t : out.children()) {
    require_known_output(t);
    leaves.push_back(t.leaf());
  }
  return leaves;
}

}  // namespace

ModuleFunction as_function(nn::Module& module, TreeFunction forward) {
  ModuleFunction m;
  const nn::NamedTensors parameters = module.named_parameters(true), buffers = module.named_buffers();
  require_data(parameters, "param");
  require_data(buffers, "buffer");
  for (const auto& [name, t] : parameters) m.parameters.push_back(name), m.state.push_back(t);
  for (const auto& [name, t] : buffers) m.buffers.push_back(name), m.state.push_back(t);
  m.members = module.members();
  m.modules = module.modules();
  m.f = [&module, forward = std::move(forward), count = m.state.size()](const Tree& all) {
    TensorList state;
    for (std::size_t k = 0; k < count; k++) state.push_back(all[k].leaf().tensor());
    const nn::StateScope scope(module, state, true);
    return forward(arguments_of(all, count));
  };
  return m;
}

TreeFunction forward_of(nn::Layer& layer) {
  return [&layer](const Tree& arguments) { return Tree(layer(arguments[0].leaf().tensor())); };
}

AotModule::AotModule(ModuleFunction module, AotOptions options)
    : members_(std::move(module.members)),
      function_(std::move(module.f), with_modules(with_state(std::move(options), members_.size()), module.modules)) {}

Tree AotModule::operator()(const Tree& arguments) const {
  std::vector<Tree> all;
  all.reserve(members_.size() + arguments.children().size());
  for (const Tensor* t : members_) all.emplace_back(*t);
  all.insert(all.end(), arguments.children().begin(), arguments.children().end());
  return function_(Tree::tuple(std::move(all)));
}

Tensor AotModule::operator()(const Tensor& argument) const { return (*this)(Tree::tuple({argument})).leaf().tensor(); }

AotModule aot_module(nn::Module& module, TreeFunction forward, AotOptions options) {
  return {as_function(module, std::move(forward)), std::move(options)};
}
AotModule aot_module(nn::Layer& layer, AotOptions options) { return aot_module(layer, forward_of(layer), std::move(options)); }

FlatCallable aot_module_simplified(nn::Module& module, const TreeFunction& forward, const Values& examples, AotOptions options) {
  const ModuleFunction m = as_function(module, forward);
  return aot_module_simplified(
      [of = m.f](const Values& leaves) { return flat_outputs(of(Tree::tuple({leaves.begin(), leaves.end()}))); }, m.state,
      examples, with_modules(std::move(options), m.modules));
}

FlatCallable aot_module_simplified(FlatFunction f, const TensorList& state, const Values& examples, AotOptions options) {
  const int id = take_id();
  options = with_state(std::move(options), state.size());
  options.dynamic = std::any_of(examples.begin(), examples.end(), has_open_sizes);
  const Values all = joined(state, examples);
  Compiled compiled = options.cache ? options.cache->compiled(f, all, options, id) : compile(f, all, options, id);
  compiled.guards.accept_calls_without_gradients();
  return [state, id, compiled = std::move(compiled)](Values arguments) {
    Values given = joined(state, std::move(arguments));
    if (const Guards::Broken broken = compiled.guards.check(given))
      throw_user_error(text("graph ", id, " was compiled for other calls than this one: ", compiled.guards.to_text(broken, given),
                            ". Compile it for such arguments, or call it with those it was compiled for"));
    INGOT_REQUIRE(compiled.guards.beyond_graphs().empty(), "graph ", id, " ", compiled.guards.beyond_graphs());
    return compiled.run(std::move(given));
  };
}

AotFunction compiled_function(TreeFunction f, AotOptions options) { return aot_function(std::move(f), std::move(options)); }
AotModule compiled_module(nn::Module& module, TreeFunction forward, AotOptions options) {
  return aot_module(module, std::move(forward), std::move(options));
}

}  // namespace ingot::aot
