// The derived suites of the dispatch specification (section 4): what V compiles is captured by the front end first (.F), or compiled
// through the cache (.C).
#pragma once
#include "aot/capture.hpp"
#include "aot/compile.hpp"
#include "aot/inputs.hpp"
#include "aot/module.hpp"
#include "support/memory_store.hpp"
#include "support/temporary_path.hpp"

namespace ingot::aot {

// A function of a tuple, over tensors that it takes before its arguments.
struct WithState {
  TensorList state;
  TreeFunction f;
};

// Compiled by the simplified entry at the first call, for that call's arguments. `captured`: by the front end before. A function that
// does what no graph says, or is of wrappers, is compiled as it is: nothing of it can be captured.
inline TreeFunction simplified(WithState of, const AotOptions& options, bool captured) {
  struct State {
    FlatCallable compiled;
    TreeSpec results;
  };
  const auto state = std::make_shared<State>();
  return [of = std::move(of), options, captured, state](const Tree& arguments) {
    const FlatTree flat = flatten(arguments);
    if (!state->compiled) {
      AotOptions o = options;
      Values examples = flat.leaves;
      if (options.dynamic) {
        o.sizes = std::make_shared<ShapeEnv>();
        examples = fake_inputs(examples, every_size_open(examples), *o.sizes);
      }
      FlatFunction f = [of, spec = flat.spec, state](const Values& leaves) {
        std::vector<Tree> trees;
        for (std::size_t k = 0; k < of.state.size(); k++) trees.emplace_back(leaves[k]);
        const Tree given = unflatten(Args(leaves).subspan(of.state.size()), spec);
        trees.insert(trees.end(), given.children().begin(), given.children().end());
        FlatTree out = flatten(of.f(Tree::tuple(std::move(trees))));
        state->results = std::move(out.spec);
        return std::move(out.leaves);
      };
      if (captured) {
        try {
          Values all(of.state.begin(), of.state.end());
          all.insert(all.end(), examples.begin(), examples.end());
          ShapeEnv own;
          ShapeEnv& sizes = o.sizes ? *o.sizes : own;
          Captured graph = capture(f, fake_inputs(all, {}, sizes), sizes);
          if (!graph.inputs.has_wrappers() && !graph.results.has_wrappers()) f = function_of(std::move(graph));
        } catch (const UserError& e) {
          if (std::string_view(e.what()).find("a graph has no node for") == std::string_view::npos) throw;
        }
      }
      state->compiled = aot_module_simplified(f, of.state, examples, o);
    }
    return unflatten(state->compiled(flat.leaves), state->results);
  };
}

}  // namespace ingot::aot
