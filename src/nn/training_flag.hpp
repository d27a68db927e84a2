// Whether a module is training, as what was compiled of the module's forward looks at it: the flag
// outlives the module, and says so when it is gone. And the scope in which it is noted which flags
// a program reads.
#pragma once
#include <atomic>
#include <vector>

#include "ingot/ref.hpp"

namespace ingot::nn {

class TrainingFlag final : public Counted {
 public:
  enum class State : uint8_t { evaluating, training, gone };
  State state() const { return state_.load(std::memory_order_relaxed); }
  void set(State s) { state_.store(s, std::memory_order_relaxed); }

 private:
  std::atomic<State> state_ = State::training;
};

// While it lives, is_training() of any module, asked on this thread, notes the module's flag. Of
// scopes inside each other, all note it.
class TrainingReads {
 public:
  TrainingReads();
  ~TrainingReads();
  TrainingReads(const TrainingReads&) = delete;
  TrainingReads& operator=(const TrainingReads&) = delete;

  // Each once, in the order of the first reads; of modules that are there now, which leaves out
  // those that lived inside of the program.
  std::vector<Ref<TrainingFlag>> flags() const;

  static bool any();  // scopes on this thread
  static void note(const Ref<TrainingFlag>& flag);

 private:
  TrainingReads* outer_;
  std::vector<Ref<TrainingFlag>> flags_;
};

}  // namespace ingot::nn
