// What ops see beside their arguments: deterministic mode, the random stream, autocast. Grad modes
// are in ingot/autograd.hpp.
#pragma once
#include "ingot/autograd.hpp"

namespace ingot {

bool are_deterministic_algorithms_enabled();

// In deterministic mode ops whose result PyTorch leaves open are errors (on CPU: put_ without
// accumulate, max_unpool2d and 3d). The mode holds on this thread until the end of the block.
class DeterministicGuard {
 public:
  explicit DeterministicGuard(bool on = true);
  ~DeterministicGuard();
  DeterministicGuard(const DeterministicGuard&) = delete;
  DeterministicGuard& operator=(const DeterministicGuard&) = delete;

 private:
  bool old_;
};

// The state of the stream that random ops without a generator read, as bytes: setting it repeats
// what followed when it was read.
Tensor get_rng_state();
void set_rng_state(const Tensor& state);

// What is drawn in the block is not missed after it: the stream goes on from where it was.
class ForkRng {
 public:
  ForkRng();
  ~ForkRng();
  ForkRng(const ForkRng&) = delete;
  ForkRng& operator=(const ForkRng&) = delete;

 private:
  uint64_t seed_, offset_;
};

// Autocast on this thread, to be compared and set as a whole. AutocastGuard is for blocks.
struct AutocastState {
  bool enabled = false;
  DType dtype = bfloat16;
  bool operator==(const AutocastState&) const = default;
};
AutocastState autocast_state();
void set_autocast_state(const AutocastState& state);  // user error for a type other than bfloat16 and float16

}  // namespace ingot
