#include "graph/dead_code.hpp"

#include <algorithm>

#include "graph/copy.hpp"
#include "graph/node_table.hpp"
#include "op/applied.hpp"

namespace ingot {

namespace {

// A function that is no subgraph of `g` could do anything.
bool calls_side_effect(const Graph& g, const Node& n) {
  bool found = false;
  const auto& params = n.op->schema.args;
  for (std::size_t i = 0; i < std::min(params.size(), n.args.size()); i++) {
    if (params[i].type.kind != Kind::function) continue;
    const bool fetched = n.args[i].is_node() && n.args[i].node()->kind == NodeKind::attribute;
    const Attribute* a = fetched ? g.find_attribute(n.args[i].node()->target) : nullptr;
    const auto* subgraph = a ? std::get_if<std::shared_ptr<const Graph>>(a) : nullptr;
    if (subgraph == nullptr) return true;
    for (const auto& inner : (*subgraph)->nodes()) found |= has_side_effect(**subgraph, *inner);
  }
  return found;
}

}  // namespace

bool has_side_effect(const Op& op) {
  return op.mutates() || op.schema.results.empty() || applies_another(op) || op.def->effects.ordered || op.form() == Form::random;
}

bool has_side_effect(const Graph& g, const Node& n) {
  switch (n.kind) {
    case NodeKind::grad_mode:
    case NodeKind::vmap:
    case NodeKind::unsupported: return true;
    case NodeKind::call: return has_side_effect(*n.op) || calls_side_effect(g, n);
    default: return false;
  }
}

Graph without_dead_code(const Graph& g) {
  std::vector<bool> live(g.nodes().size());
  const auto mark = [&](const Node* n) { live[at(n)] = true; };
  for_each_node(g.outputs, mark);
  for (auto it = g.nodes().rbegin(); it != g.nodes().rend(); ++it) {
    const Node& n = **it;
    if (n.kind == NodeKind::placeholder || has_side_effect(g, n)) mark(&n);
    if (live[at(&n)]) for_each_node(n.args, mark);
  }
  Graph to;
  GraphCopier copier(g, to);
  for (const auto& n : g.nodes())
    if (live[at(n.get())]) copier.copy(*n);
  copier.copy_outputs();
  return to;
}

}  // namespace ingot
