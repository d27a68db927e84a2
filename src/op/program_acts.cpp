#include "op/program_acts.hpp"

#include "ingot/autograd.hpp"
#include "op/call.hpp"
#include "op/function.hpp"

namespace ingot {

ActListener*& act_listener() {
  thread_local ActListener* listener = nullptr;
  return listener;
}

void tell_act(std::string_view what) {
  if (ActListener* l = act_listener()) l->acted(what);
}

bool taken_apart(const Op& op) {
  const ActListener* l = act_listener();
  return l && l->takes_apart(op);
}

bool loops_are_kept() {
  const ActListener* l = act_listener();
  return l && l->keeps_loops();
}

void switch_grad_mode(bool on) {
  thread_state().grad_mode = on;
  if (ActListener* l = act_listener()) l->grad_mode_set(on);
}
bool is_grad_enabled() { return thread_state().grad_mode; }
GradModeGuard::GradModeGuard(bool on) : old_(thread_state().grad_mode) { switch_grad_mode(on); }
GradModeGuard::~GradModeGuard() { switch_grad_mode(old_); }

}  // namespace ingot
