#include "transform/mode.hpp"

#include "base/error.hpp"

namespace ingot {
namespace {

constexpr uint8_t kModeBit = layer_bit(Layer::mode);
thread_local const ModeScope* innermost = nullptr;

}  // namespace

ModeScope::ModeScope(Mode& mode) : mode_(mode), outer_(innermost), old_active_(thread_state().active) {
  install_once(Layer::mode, mode_handler);
  innermost = this;
  thread_state().active |= kModeBit;
}
ModeScope::~ModeScope() {
  innermost = outer_;
  thread_state().active = old_active_;
}

std::vector<const Mode*> modes_of_thread() {
  std::vector<const Mode*> modes;
  for (const ModeScope* s = innermost; s; s = s->outer_) modes.push_back(&s->mode_);
  return modes;
}

Value mode_handler(const Op& op, Args args) {
  const ModeScope* scope = innermost;
  INGOT_ENSURE(scope, "the mode layer is active without a mode");
  ThreadState& state = thread_state();
  const Scoped<const ModeScope*> popped(innermost, scope->outer_);
  const Scoped<uint8_t> active(state.active, static_cast<uint8_t>(scope->outer_ ? state.active : state.active & ~kModeBit));
  const Scoped<Layer> here(state.layer, Layer::mode);
  return scope->mode_.call(op, args);
}

}  // namespace ingot
