// What a value of a graph looks at.
#pragma once
#include "graph/graph.hpp"

namespace ingot {

// What the node's result is a view of by this one step: what it was taken of, or, of a write that
// returns what it wrote, that. Null where it looks at a storage of its own. The step of an element
// of a list of views is the list.
inline const Node* viewed(const Node& n) {
  if (n.kind == NodeKind::item) {
    const Node* list = n.args[0].node();
    return list->kind == NodeKind::call && list->op->is_view() ? list : nullptr;
  }
  const bool is_alias =
      n.kind == NodeKind::call && (n.op->is_view() || (n.op->variant == Variant::inplace && n.meta.is_tensor()));
  return is_alias && n.args[0].is_node() ? n.args[0].node() : nullptr;
}

// The node whose storage it is.
inline const Node* storage_of(const Node* n) {
  while (const Node* base = viewed(*n)) n = base;
  return n;
}

}  // namespace ingot
