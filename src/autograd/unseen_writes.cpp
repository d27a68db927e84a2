#include "autograd/unseen_writes.hpp"

#include <utility>

#include "op/call.hpp"
#include "op/side_effects.hpp"

namespace ingot {

bool& unseen_writes() {
  thread_local bool unseen = false;
  return unseen;
}

UnseenWrites::UnseenWrites() {
  tell_side_effect("writes that autograd does not hear of");
  old_ = std::exchange(unseen_writes(), true);
  old_grad_mode_ = std::exchange(thread_state().grad_mode, false);
}
UnseenWrites::~UnseenWrites() {
  unseen_writes() = old_;
  thread_state().grad_mode = old_grad_mode_;
}

}  // namespace ingot
