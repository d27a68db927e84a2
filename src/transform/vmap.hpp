// vmap: a function of tensors becomes one that does the same for every member of a batch, without a loop.
#pragma once
#include "graph/trace.hpp"
#include "op/batching.hpp"

namespace ingot {

struct VmapOptions {
  // By argument: the dim its members lie along, counted from the end if negative; nothing: every member sees the whole
  // tensor. One entry stands for all arguments. The same for results; a result without a dim must not depend on the batch.
  std::vector<std::optional<int64_t>> in_dims = {0};
  std::vector<std::optional<int64_t>> out_dims = {0};
  Randomness randomness = Randomness::error;
};

// vmap(f)(x) is stack(f(x[0]), f(x[1]), …). `f` may call anything, also vmap and grad(); each op runs once for the whole
// batch by its batching rule, or once for each member where it has none, which is said once on stderr (ops/batch_rules.hpp).
// Views of arguments alias them and writes into them are seen by the caller, as in the loop.
// User errors, in PyTorch's words: reading a member's data as a number, results whose size depends on data, a write of a
// mapped value into a tensor that is not mapped, random ops unless `randomness` allows them.
TensorFunction vmap(TensorFunction f, VmapOptions options = {});

}  // namespace ingot
