#include "autograd/accumulate.hpp"

#include <limits>

#include "op/wrapper.hpp"
#include "tensor/geometry.hpp"
#include "tensor/stand_in.hpp"

namespace ingot {

// Runs as soon as its gradient is there.
AccumulateGrad::AccumulateGrad(const Tensor& leaf) : GradNode(std::numeric_limits<uint64_t>::max()), leaf_(leaf) {
  results.push_back(leaf->geom);
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
// A gradient nobody else holds may become the leaf's grad as it is; a shared one is copied, in the
// leaf's layout.
Tensor owned_gradient(const Tensor& g, const Tensor& leaf) {
  if (thread_state().grad_mode) return aten<"clone">(g);  // create_graph: with its history
  if (!has_storage(g)) return aten<"clone">(g);           // no layout to fit
  if (is_stand_in(*g->storage)) return aten<"clone">(g);  // the leaf's gradient is a value, which others write
  const bool dense_leaf = is_non_overlapping_and_dense(leaf.sizes(), leaf.strides());
  const bool layout_fits = dense_leaf ? g.strides().same(leaf.strides()) : g.is_contiguous();
  const bool wrapper = g->layers & layer_bit(Layer::wrapper);  // others may hold the tensors inside
  if (layout_fits && !wrapper && g.impl()->use_count() <= 2 && g->storage->use_count() == 1) return detached(g);
  if (!dense_leaf) return aten<"clone">(g, MemoryFormat::contiguous);
  Tensor copy = aten<"new_empty_strided">(g, leaf.sizes(), leaf.strides());
  aten_value<"copy_">(copy, g);
  return copy;
}
}  // namespace

void AccumulateGrad::run_hooks(TensorList& grads) {
  const auto& hooks = autograd_meta(leaf_)->leaf_hooks;
  for (std::size_t i = 0; i < hooks.size(); i++) {  // by index: a hook may register another one
    const GradHook hook = hooks[i];
    if (grads[0].defined()) grads[0] = hooked(hook, grads[0]);
  }
}

TensorList AccumulateGrad::apply(const TensorList& grads, const std::vector<bool>&) {
  const Tensor g = grads[0];
  AutogradMeta& m = *autograd_meta(leaf_);
  if (!g.defined() || !m.requires_grad) return {};
  Tensor old;  // dies after the lock is gone: it may own nodes of other leaves
  {
    std::lock_guard lock(m.mutex);
    if (!m.grad.defined()) m.grad = owned_gradient(g, leaf_);
    else if (!thread_state().grad_mode && has_storage(m.grad)) aten_value<"add_.Tensor">(m.grad, g);
    else old = std::exchange(m.grad, aten<"add.Tensor">(m.grad, g));  // what has no storage may become dense
  }
  for (std::size_t i = 0; i < m.post_accumulate_hooks.size(); i++) {
    const auto hook = m.post_accumulate_hooks[i];
    hook(leaf_);
  }
  return {};
}

}  // namespace ingot
