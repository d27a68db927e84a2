// The windows of a pooling of one size: what its rules share (pool.cpp, pool_lower.cpp). This
// folder's own.
#pragma once
#include "ingot/op/definition.hpp"
#include "ingot/op/lowering.hpp"

namespace ingot {

// One entry for each dim of space.
struct PoolWindow {
  Shape kernel, stride, padding, dilation;
  bool ceil_mode;
};
// The call's kernel_size stands at `at`; average pooling has no dilation.
PoolWindow pool_window(const Call& c, int space, int at, bool dilated);

template <int Space>
void max_pool_lower(Lowering& l);
template <int Space>
void avg_pool_lower(Lowering& l);

}  // namespace ingot
