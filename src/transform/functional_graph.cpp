#include "transform/functional_graph.hpp"

#include <unordered_set>

#include "base/error.hpp"
#include "graph/source.hpp"
#include "graph/text.hpp"
#include "op/call.hpp"

namespace ingot {
namespace {

// Whether the op replaces all that its first argument holds.
bool replaces_argument(const Op& op) { return &op == &op_ref<"copy_">() || op.def->effects.rewires == Rewires::storage; }

}  // namespace

int require_functional(const Graph& g) {
  std::unordered_set<const Node*> placeholders(g.inputs().begin(), g.inputs().end()), written, replacements;
  int writes = 0;
  for (const auto& n : g.nodes())
    if (n->kind == NodeKind::call && replaces_argument(*n->op) && n->args.size() > 1 && n->args[1].is_node())
      replacements.insert(n->args[1].node());
  for (const auto& n : g.nodes()) {
    if (n->kind != NodeKind::call || (!n->op->mutates() && n->op->def->effects.rewires == Rewires::nothing)) continue;
    const Node* target = n->args.at(0).is_node() ? n->args[0].node() : nullptr;
    const bool resizes =
        n->op->def->effects.rewires == Rewires::bytes && (placeholders.contains(target) || replacements.contains(target));
    const bool replaces = replaces_argument(*n->op) && placeholders.contains(target) && written.insert(target).second;
    INGOT_REQUIRE(resizes || replaces, "aot_autograd expected to have an entirely functional graph, but found ", n->name, " = ",
                  n->op->qualified(), provenance(*n),
                  placeholders.contains(target) ? ": a placeholder is written once, with copy_ or set_"
                                                : ": only placeholders may be written");
    writes++;
  }
  for (const auto& [key, attribute] : g.attributes)
    if (const auto* subgraph = std::get_if<std::shared_ptr<const Graph>>(&attribute)) require_functional(**subgraph);
  return writes;
}

}  // namespace ingot
