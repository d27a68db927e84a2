// What a value of a graph looks at.
#pragma once
#include "graph/graph.hpp"

namespace ingot {

// The node whose storage it is: of a view, or of an element of a list of views, what it was taken of.
inline const Node* storage_of(const Node* n) {
  while (true) {
    const Node* made = n->kind == NodeKind::item ? n->args[0].node() : n;
    if (made->kind != NodeKind::call || !made->op->is_view() || !made->args[0].is_node()) return n;
    n = made->args[0].node();
  }
}

}  // namespace ingot
