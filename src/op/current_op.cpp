#include "op/current_op.hpp"

namespace ingot {

namespace {
thread_local const Op* running = nullptr;
}  // namespace

const Op* current_op() { return running; }

RunningOp::RunningOp(const Op* op) : old_(running) { running = op; }
RunningOp::~RunningOp() { running = old_; }

}  // namespace ingot
