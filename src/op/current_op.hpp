// The op whose rules are running on this thread, for messages that must say who asks.
#pragma once

namespace ingot {

struct Op;

// Of nested calls the innermost that a listing would show; null while the program itself runs.
const Op* current_op();

// Rules of `op` run in the scope; null: the program's own code does.
class RunningOp {
 public:
  explicit RunningOp(const Op* op);
  ~RunningOp();
  RunningOp(const RunningOp&) = delete;
  RunningOp& operator=(const RunningOp&) = delete;

 private:
  const Op* old_;
};

}  // namespace ingot
