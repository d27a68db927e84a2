#include "support/detach_chains.hpp"

#include "graph/copy.hpp"

namespace ingot {

namespace {

bool is_detach(const Argument& a) {
  return a.is_node() && a.node()->kind == NodeKind::call && a.node()->op->def->grad.detaches && !a.node()->op->mutates();
}

}  // namespace

Graph with_short_detach_chains(const Graph& g) {
  std::vector<int> users(g.nodes().size());
  const auto count = [&](const Node* n) { users[static_cast<std::size_t>(n->id)]++; };
  for (const auto& n : g.nodes()) for_each_node(n->args, count);
  for_each_node(g.outputs, count);
  Graph to;
  GraphCopier copier(g, to);
  for (const auto& n : g.nodes()) {
    const bool detach = is_detach(n.get());
    if (detach && is_detach(n->args[0]) && users[static_cast<std::size_t>(n->args[0].node()->id)] == 1)
      copier.replace(*n, copier(n->args[0]));
    else if (detach) {
      Node* one = to.call(*n->op, {copier(n->args[0])});
      one->meta = n->meta;
      copier.replace(*n, one);
    } else copier.copy(*n);
  }
  copier.copy_outputs();
  return to;
}

}  // namespace ingot
