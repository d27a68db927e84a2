// Whether a module is training, as what was compiled of the module's forward looks at it: the flag
// outlives the module, and says so when it is gone.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
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

}  // namespace ingot::nn
