#include "aot/own_tokens.hpp"

#include "aot/passes.hpp"
#include "graph/copy.hpp"
#include "graph/node_table.hpp"
#include "op/call.hpp"

namespace ingot::aot {
namespace {

Graph with_own_tokens(const Graph& g, int tokens) {
  const auto count = static_cast<std::size_t>(tokens);
  Graph to;
  GraphCopier copier(g, to);
  for (const Node* n : g.inputs())
    if (at(n) >= count) copier.copy(*n);
  for (std::size_t k = 0; k < count; k++) {
    Node* made = to.call(op_ref<"prims::_make_token">(), {});
    made->meta = g.inputs()[k]->meta;
    copier.replace(*g.inputs()[k], made);
  }
  for (const auto& n : g.nodes())
    if (n->kind != NodeKind::placeholder) copier.copy(*n);
  copier.copy_outputs();
  const auto end = to.outputs.begin() + tokens;
  to.call(op_ref<"prims::_sink_tokens">(), {Argument::list({to.outputs.begin(), end})});
  to.outputs.erase(to.outputs.begin(), end);
  return to;
}

Graph without_first_results(const Graph& g, int count) {
  Graph to = clone(g);
  to.outputs.erase(to.outputs.begin(), to.outputs.begin() + count);
  return to;
}

}  // namespace

Pass own_tokens_pass(int tokens) {
  return {kOwnTokens.name, [tokens](const Graph& g) { return with_own_tokens(g, tokens); }, kOwnTokens.required};
}
Pass own_tokens_of_backward_pass(int tokens) {
  return {kOwnTokens.name, [tokens](const Graph& g) { return without_first_results(g, tokens); }, kOwnTokens.required};
}

}  // namespace ingot::aot
