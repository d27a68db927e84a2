#include "op/side_effects.hpp"

#include "ingot/autograd.hpp"
#include "op/call.hpp"
#include "op/function.hpp"

namespace ingot {

ProgramListener*& program_listener() {
  thread_local ProgramListener* listener = nullptr;
  return listener;
}

void tell_side_effect(std::string_view what) {
  if (ProgramListener* l = program_listener()) l->side_effect(what);
}

bool taken_apart(const Op& op, Args args) {
  const ProgramListener* l = program_listener();
  return l && l->takes_apart(op, args);
}

bool loops_are_kept() {
  const ProgramListener* l = program_listener();
  return l && l->keeps_loops();
}

void switch_grad_mode(bool on) {
  thread_state().grad_mode = on;
  if (ProgramListener* l = program_listener()) l->grad_mode_set(on);
}
bool is_grad_enabled() { return thread_state().grad_mode; }
GradModeGuard::GradModeGuard(bool on) : old_(thread_state().grad_mode) { switch_grad_mode(on); }
GradModeGuard::~GradModeGuard() { switch_grad_mode(old_); }

}  // namespace ingot
