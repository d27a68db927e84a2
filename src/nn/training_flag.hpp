// Whether a module is training, as what was compiled of the module's forward looks at it: the flag
// outlives the module, and says so when it is gone. And the scope in which it is noted which flags
// a program reads.
#pragma once
#include <atomic>
#include <cstddef>
#include <vector>

#include "ingot/ref.hpp"

namespace ingot::nn {

class Module;

class TrainingFlag final : public Counted {
 public:
  enum class State : uint8_t { evaluating, training, gone };
  TrainingFlag();  // a module is made
  State state() const { return state_.load(std::memory_order_relaxed); }
  void set(bool is_training);
  void end();  // of the module

  static std::size_t modules_there();  // in this process, now

 private:
  std::atomic<State> state_ = State::training;
};

// The flags of modules, of which only the flags are looked at from then on.
class TrainingFlags {
 public:
  TrainingFlags() = default;
  TrainingFlags(const std::vector<const Module*>& modules) { add(modules); }
  void add(const std::vector<const Module*>& modules);
  auto begin() const { return flags_.begin(); }
  auto end() const { return flags_.end(); }

 private:
  std::vector<Ref<TrainingFlag>> flags_;
};

// What a program took a flag to be.
struct TrainingRead {
  Ref<TrainingFlag> flag;
  TrainingFlag::State state;
};

// While it lives, is_training() of any module, asked on this thread, notes the module's flag. Of
// scopes inside each other, all note it.
class TrainingReads {
 public:
  TrainingReads();
  ~TrainingReads();
  TrainingReads(const TrainingReads&) = delete;
  TrainingReads& operator=(const TrainingReads&) = delete;

  // Each flag once, in the order of the first reads; of modules that are there now, which leaves
  // out those that lived inside of the program. What it was when it was read last; of one that this
  // thread set since the scope began, as the program may do itself, what it is now.
  std::vector<TrainingRead> reads() const;

  static bool any();  // scopes on this thread
  static void note(const Ref<TrainingFlag>& flag, TrainingFlag::State state);

 private:
  friend class TrainingFlag;
  TrainingReads* outer_;
  std::vector<TrainingRead> reads_;
  std::vector<const TrainingFlag*> set_;  // to be compared with flags that are there
};

}  // namespace ingot::nn
