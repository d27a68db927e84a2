// Modes: handlers that a user pushes for a block of code. They see every op that reaches their
// layer, below autograd and functionalize and above wrapper tensors: also factories, and the ops of
// a backward pass that runs in the block.
#pragma once
#include <vector>

#include "op/call.hpp"

namespace ingot {

class Mode {
 public:
  virtual ~Mode() = default;
  // Runs one op. The mode is off while it does: ops that it calls, through `below` or in any other
  // way, go to the mode around it, or to the layers below. They are not recorded for gradients;
  // autograd has seen the call already.
  virtual Value call(const Op& op, Args args) = 0;

 protected:
  static Value below(const Op& op, Args args) { return ingot::call(op, args); }
};

// Pushes a mode on this thread. The innermost mode is asked first.
class ModeScope {
 public:
  explicit ModeScope(Mode& mode);
  ~ModeScope();
  ModeScope(const ModeScope&) = delete;
  ModeScope& operator=(const ModeScope&) = delete;

 private:
  Mode& mode_;
  const ModeScope* outer_;
  uint8_t old_active_;
  friend Value mode_handler(const Op& op, Args args);
  friend std::vector<const Mode*> modes_of_thread();
};

// Those that are on, innermost first.
std::vector<const Mode*> modes_of_thread();

// The mode layer of `call`.
Value mode_handler(const Op& op, Args args);

}  // namespace ingot
