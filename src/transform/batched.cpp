#include "transform/batched.hpp"

#include <atomic>

#include "autograd/above.hpp"
#include "autograd/meta.hpp"
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "op/call.hpp"
#include "tensor/geometry.hpp"
#include "tensor/stand_in.hpp"

namespace ingot {
namespace {

constexpr uint8_t kTransformBit = layer_bit(Layer::transform);

thread_local std::vector<VmapLevel> levels;

Geometry member_geometry(const Geometry& g) {
  return {g.sizes.sub(1, g.sizes.size()), g.strides.sub(1, g.strides.size()), g.offset, g.dtype};
}

// The history of a batched tensor is its value's. This stands for it, so that a program may ask
// whether gradients are wanted.
class HistoryOfValue final : public GradNode {
 public:
  std::string name() const override { return "VmapBackward"; }
  TensorList apply(const TensorList&, const std::vector<bool>&) override {
    throw_internal_error(__FILE__, __LINE__, "the tape was given a tensor of the layer above it");
  }
};
void mirror_history(const Tensor& t, const Tensor& value) {
  const bool wanted = is_differentiable(value.dtype()) && requires_grad(value);
  if (wanted == requires_grad(t)) return;
  if (!wanted) return autograd_meta(t)->set_node(nullptr, 0);
  auto node = make_ref<HistoryOfValue>();
  node->results = {t->geom};
  set_history(t, node, 0);
}

}  // namespace

BatchedState* batched_state(const Tensor& t) {
  return t.defined() && (t->layers & kTransformBit) ? static_cast<BatchedState*>(t->special.get()) : nullptr;
}

Tensor make_batched(const Tensor& value, int level) {
  INGOT_ENSURE(value.defined() && value.dim() > 0, "a batched tensor without a batch dim");
  Geometry g = member_geometry(value->geom);
  const Int bytes = required_bytes(g);
  Tensor t(make_ref<TensorImpl>(Storage::fake(bytes, value.device()), std::move(g)));
  share_stand_in(*t->storage, *value->storage);
  auto state = std::make_unique<BatchedState>();
  state->value = value;
  state->level = level;
  t->layers = kTransformBit;
  t->special = std::move(state);
  mirror_history(t, value);
  return t;
}

void set_batched_value(const Tensor& t, Tensor value) {
  t->geom = member_geometry(value->geom);
  mirror_history(t, value);
  batched_state(t)->value = std::move(value);
}

const std::vector<VmapLevel>& vmap_levels() { return levels; }

VmapScope::VmapScope(Int size, Randomness randomness) : old_active_(thread_state().active) {
  static std::atomic<int> next{1};
  install_once(Layer::transform, vmap_handler);
  install_above(vmap_tape());
  level_ = next++;
  levels.push_back({level_, size, randomness});
  thread_state().active |= kTransformBit;
}
VmapScope::~VmapScope() {
  levels.pop_back();
  thread_state().active = old_active_;
}

LevelsScope::LevelsScope(std::vector<VmapLevel> acting) : old_(std::move(levels)), old_active_(thread_state().active) {
  levels = std::move(acting);
  if (!levels.empty()) thread_state().active |= kTransformBit;
}
LevelsScope::~LevelsScope() {
  levels = std::move(old_);
  thread_state().active = old_active_;
}

}  // namespace ingot
