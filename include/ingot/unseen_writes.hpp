// Writes that autograd does not hear of: those of a user's kernel that writes the memory of its
// arguments.
#pragma once

namespace ingot {

// In the scope writes have no history, as with NoGrad, and no version counts them: a backward that
// saved the tensor does not notice. A compiled function makes them in the same way.
//
//   { const UnseenWrites scope; aten_value<"copy_">(state, next); }
class UnseenWrites {
 public:
  UnseenWrites();
  ~UnseenWrites();
  UnseenWrites(const UnseenWrites&) = delete;
  UnseenWrites& operator=(const UnseenWrites&) = delete;

 private:
  bool old_, old_grad_mode_;
};

}  // namespace ingot
