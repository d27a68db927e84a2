// Batched tensors: what a function under vmap sees in the place of a tensor that is mapped over.
//
// A batched tensor looks like one member and holds the whole batch: `value`, with the batch in dim
// 0. It belongs to one vmap (its level); the value of an inner vmap's tensor may itself be a
//    batched tensor of an outer one. Below the transform
// layer there are only values, so the tape, functionalize and the tracer see physical ops and
// nothing of vmap.
#pragma once
#include <vector>

#include "autograd/above.hpp"
#include "ingot/op/batching.hpp"
#include "ingot/transforms.hpp"
#include "op/op.hpp"

namespace ingot {

struct BatchedState final : SpecialState {
  Tensor value;
  int level = 0;
  std::unique_ptr<SpecialState> clone() const override { return std::make_unique<BatchedState>(*this); }
};

// Null for a tensor that is not batched.
BatchedState* batched_state(const Tensor& t);
// The tensor whose members `value` has along dim 0.
Tensor make_batched(const Tensor& value, int level);
// Gives a batched tensor another value, or the same after a write.
void set_batched_value(const Tensor& t, Tensor value);

// The vmaps that run on this thread, outermost first. Their numbers rise, and none is used twice.
struct VmapLevel {
  int level = 0;
  Int size;
  Randomness randomness = Randomness::error;
};
const std::vector<VmapLevel>& vmap_levels();

// A vmap runs its function in the scope.
class VmapScope {
 public:
  VmapScope(Int size, Randomness randomness);
  ~VmapScope();
  VmapScope(const VmapScope&) = delete;
  VmapScope& operator=(const VmapScope&) = delete;
  int level() const { return level_; }

 private:
  int level_;
  uint8_t old_active_;
  TransformScope function_;
};

// The vmaps that act in the scope: the outer ones for what a batching rule calls, and those of its
// call for a function that a layer below runs.
class LevelsScope {
 public:
  explicit LevelsScope(std::vector<VmapLevel> levels);
  ~LevelsScope();
  LevelsScope(const LevelsScope&) = delete;
  LevelsScope& operator=(const LevelsScope&) = delete;

 private:
  std::vector<VmapLevel> old_;
  uint8_t old_active_;
};

// The transform layer of `call`.
Value vmap_handler(const Op& op, Args args);
// What batched tensors are to the tape.
const LayerAbove& vmap_tape();

}  // namespace ingot
