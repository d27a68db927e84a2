// Rows of a strided buffer: how functions that work along one dimension of a tensor are told where
// the rows lie.
#pragma once
#include <cstdint>

namespace ingot::kernels {

// Row r starts at element (r / inner) * outer_stride + (r % inner) * inner_stride; its elements are
// `stride` apart. Requires inner >= 1. A buffer read again for every row has both outer strides
// zero.
struct Rows {
  int64_t inner, outer_stride, inner_stride, stride;
  // Rows along the middle dimension of a contiguous [outer, n, inner] buffer: outer * inner rows of
  // n elements.
  static constexpr Rows along(int64_t n, int64_t inner) { return {inner, n * inner, 1, inner}; }
  constexpr int64_t start(int64_t r) const { return r / inner * outer_stride + r % inner * inner_stride; }
};

}  // namespace ingot::kernels
