#include "op/grad_mode.hpp"

#include <atomic>

#include "op/call.hpp"

namespace ingot {
namespace {

std::atomic<GradModeListener> listener = nullptr;

}  // namespace

void switch_grad_mode(bool on) {
  thread_state().grad_mode = on;
  if (const GradModeListener l = listener.load(std::memory_order_relaxed)) l(on);
}

void listen_to_grad_mode(GradModeListener l) { listener.store(l, std::memory_order_relaxed); }

}  // namespace ingot
