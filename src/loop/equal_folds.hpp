// Folds of several programs over one set of constants (fold.hpp): what two of them compute alike is
// computed once and kept once, such as a weight that prefill and decode both want in panels.
#pragma once
#include <vector>

#include "loop/lone_kernel.hpp"

namespace ingot::loop {

// Numbers what folds compute: equal numbers, equal elements in equal places.
class FoldNumbers {
 public:
  // The numbers of the fold's outputs. `constants[k]` is the number of its constant k: those of
  // constants are the caller's, and below `constant_count`.
  FoldNumbers(int64_t constant_count) : next_(constant_count) {}
  std::vector<int64_t> add(const Program& fold, const std::vector<std::size_t>& constants);

 private:
  struct Known {
    LoneKernel kernel;
    std::vector<int64_t> before;  // the numbers of its buffers, -1 where nothing was in them
    std::vector<int64_t> after;
  };
  std::vector<Known> known_;
  int64_t next_;

  std::vector<int64_t> numbers_after(LoneKernel kernel, std::vector<int64_t> before, const std::vector<int>& written);
};

// The fold without the outputs that are not kept, and without what only they need.
void keep_outputs(Program& fold, const std::vector<bool>& kept);

}  // namespace ingot::loop
