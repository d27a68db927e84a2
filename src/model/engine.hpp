// What all models of a container share when they run.
#pragma once
#include "model/device.hpp"
#include "model/lock.hpp"
#include "model/program.h"
#include "model/threads.hpp"

namespace ingot::model {

// The random stream (src/tensor/random.hpp says what a draw is).
class Draws {
 public:
  static constexpr uint64_t kDefaultSeed = 67280421310721;  // Generator's, which is PyTorch's

  void set(uint64_t seed, uint64_t offset) {
    Lock lock(mutex_);
    seed_ = seed;
    offset_ = offset;
  }
  void get(uint64_t* seed, uint64_t* offset) {
    Lock lock(mutex_);
    *seed = seed_;
    *offset = offset_;
  }
  void next(uint64_t* seed, uint64_t* offset) {
    Lock lock(mutex_);
    *seed = seed_;
    *offset = offset_++;
  }
  bool is_idle() { return mutex_.is_free(); }

 private:
  Mutex mutex_;
  uint64_t seed_ = kDefaultSeed, offset_ = 0;
};

struct Engine {
  Device device;
  size_t level = 0;  // of the program's, which the code in use is for
  Threads threads;
  Draws draws;
  std::atomic<bool> checks_inputs{true};

  bool make(
      int32_t device_index =
          0);  // of the program's device; chooses the code for this processor; AOTI_RUNTIME_CHECK_INPUTS=0 turns the checks off
};

}  // namespace ingot::model
