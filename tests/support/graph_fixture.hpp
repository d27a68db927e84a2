// What the tests of graphs share.
#pragma once
#include "graph/graph.hpp"
#include "tensor/impl.hpp"

namespace ingot {

inline Tensor fake(Shape sizes, DType dtype = DType::f32) {
  return make_tensor(Geometry::contiguous(std::move(sizes), dtype), {}, true);
}
inline Node* with_meta(Node* n, Value meta) {
  n->meta = std::move(meta);
  return n;
}
inline std::shared_ptr<const Graph> shared(Graph g) { return std::make_shared<const Graph>(std::move(g)); }

}  // namespace ingot
