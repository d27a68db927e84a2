// The run that this thread's eager call belongs to: where its random numbers, threads and memory
// come from.
#pragma once
#include "model/program.h"

namespace ingot {

// Null outside a call, and in the other threads of a call's parallel regions.
ingot_frame* current_frame();

class FrameScope {
 public:
  explicit FrameScope(ingot_frame* frame);
  ~FrameScope();
  FrameScope(const FrameScope&) = delete;
  FrameScope& operator=(const FrameScope&) = delete;

 private:
  ingot_frame* old_;
};

}  // namespace ingot
