#include "graph/copy.hpp"

#include "base/error.hpp"
#include "graph/node_table.hpp"

namespace ingot {

GraphCopier::GraphCopier(const Graph& from, Graph& to, Attributes attributes)
    : from_(from), to_(to), now_(from.nodes().size()), has_copy_(from.nodes().size()) {
  if (attributes == Attributes::copy) to.attributes = from.attributes;
}

Node* GraphCopier::copy(const Node& n) {
  std::vector<Argument> args;
  args.reserve(n.args.size());
  for (const Argument& a : n.args) args.push_back((*this)(a));
  Node* c = nullptr;
  switch (n.kind) {
    case NodeKind::placeholder: c = to_.placeholder(n.name); break;
    case NodeKind::attribute: c = to_.attribute(n.target, n.name); break;
    case NodeKind::call: c = to_.call(*n.op, std::move(args), n.name); break;
    case NodeKind::item:
      INGOT_ENSURE(args[0].is_node(), "the list of ", n.name, " was replaced by a constant");
      c = to_.item(args[0].node(), n.index, n.name);
      break;
    case NodeKind::scalar: c = to_.scalar(n.function, std::move(args), n.name); break;
    case NodeKind::grad_mode: c = to_.grad_mode(n.args[0].value().to_bool(), n.name); break;
    case NodeKind::vmap: c = to_.vmap(n.vmap_call, std::move(args), n.name); break;
    case NodeKind::unsupported: c = to_.unsupported(n.target, std::move(args), n.name); break;
  }
  c->role = n.role;
  c->meta = n.meta;
  c->stack_trace = n.stack_trace;
  c->module_path = n.module_path;
  c->saving = n.saving;
  replace(n, c);
  return c;
}

void GraphCopier::replace(const Node& n, Argument now) {
  now_[at(&n)] = std::move(now);
  has_copy_[at(&n)] = true;
}

Argument GraphCopier::operator()(const Argument& a) const {
  if (a.is_value()) return a;
  if (a.is_node()) {
    INGOT_ENSURE(has_copy_[at(a.node())], a.node()->name, " is used, and has no copy");
    return now_[at(a.node())];
  }
  std::vector<Argument> elements;
  for (const Argument& e : a.elements()) elements.push_back((*this)(e));
  return Argument::list(std::move(elements));
}

void GraphCopier::copy_outputs() {
  for (const Argument& a : from_.outputs) to_.outputs.push_back((*this)(a));
  to_.returns = from_.returns;
}

Graph clone(const Graph& g) {
  Graph to;
  GraphCopier copier(g, to);
  for (const auto& n : g.nodes()) copier.copy(*n);
  copier.copy_outputs();
  return to;
}

}  // namespace ingot
