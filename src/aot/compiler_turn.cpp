#include "aot/compiler_turn.hpp"

#include <optional>

#include "ingot/autograd.hpp"
#include "ingot/state.hpp"

namespace ingot::aot {

CompilerTurn::CompilerTurn(int id, std::shared_ptr<ShapeEnv> sizes) : id_(id), sizes_(std::move(sizes)), autocast_(autocast_state().enabled) {}

Boxed CompilerTurn::operator()(const Compiler& compiler, const std::shared_ptr<const Graph>& graph, GraphKind kind) const {
  Values examples;
  for (const Node* n : graph->inputs()) examples.push_back(n->meta);
  const GuardScope guards(*sizes_);
  const CompileScope scope(id_, kind);
  if (!autocast_) return compiler(graph, examples);
  const AutocastGuard off(bfloat16, false);
  return [run = compiler(graph, examples)](Values& arguments) {
    const AutocastGuard off(bfloat16, false);
    return run(arguments);
  };
}

}  // namespace ingot::aot
