#include "autograd/accumulate.hpp"

#include <limits>

#include "tensor/geometry.hpp"

namespace ingot {

AccumulateGrad::AccumulateGrad(const Tensor& leaf) : leaf_(leaf) {
  sequence = std::numeric_limits<uint64_t>::max();  // runs as soon as its gradient is there
  results = {leaf->geom};
}

AccumulateGrad::~AccumulateGrad() {
  AutogradMeta& m = *autograd_meta(leaf_);
  std::lock_guard lock(m.mutex);
  if (m.accumulate == this) m.accumulate = nullptr;
}

Ref<GradNode> accumulate_node(const Tensor& leaf) {
  AutogradMeta& m = ensure_autograd_meta(leaf);
  std::lock_guard lock(m.mutex);
  if (m.accumulate && m.accumulate->try_retain()) return Ref<GradNode>::adopt(m.accumulate);
  auto n = make_ref<AccumulateGrad>(leaf);
  m.accumulate = n.get();
  return n;
}

namespace {
// A gradient nobody else holds may become the leaf's grad as it is; a shared one is copied, in the leaf's layout.
Tensor owned_gradient(const Tensor& g, const Tensor& leaf) {
  const bool dense_leaf = is_non_overlapping_and_dense(leaf.sizes(), leaf.strides());
  const bool layout_fits = dense_leaf ? g.strides().same(leaf.strides()) : g.is_contiguous();
  if (thread_state().grad_mode) return g;  // create_graph: keep the history
  if (layout_fits && g.impl()->use_count() <= 2 && g->storage->use_count() == 1) return detached(g);
  Tensor copy = dense_leaf ? aten<"new_empty_strided">(g, leaf.sizes(), leaf.strides()) : Tensor();
  if (!dense_leaf) return aten<"clone">(g, MemoryFormat::contiguous);
  aten_value<"copy_">(copy, g);
  return copy;
}
}  // namespace

TensorList AccumulateGrad::apply(const TensorList& grads, const std::vector<bool>&) {
  Tensor g = grads[0];
  if (!g.defined()) return {};
  AutogradMeta& m = *autograd_meta(leaf_);
  for (const GradHook& h : m.leaf_hooks)
    if (Tensor replaced = h(g); replaced.defined()) g = replaced;
  {
    std::unique_lock lock(m.mutex);
    if (!m.grad.defined()) {
      m.grad = owned_gradient(g, leaf_);
    } else if (!thread_state().grad_mode) {
      aten_value<"add_.Tensor">(m.grad, g);
    } else {
      m.grad = aten<"add.Tensor">(m.grad, g);
    }
  }
  for (const auto& h : m.post_accumulate_hooks) h(leaf_);
  return {};
}

}  // namespace ingot
