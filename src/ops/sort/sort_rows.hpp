// Rows of a tensor along a dim, as the sort kernels take them.
#pragma once
#include <algorithm>

#include "kernels/rows.hpp"
#include "ops/common/dense.hpp"

namespace ingot {

struct SortRows {
  Tensor data;  // contiguous
  int64_t n = 1, rows = 1;
  kernels::Rows layout{};
  // How many rows are worth a thread.
  int64_t grain() const { return std::max<int64_t>(1, 4096 / std::max<int64_t>(1, n)); }
};
inline SortRows sort_rows_of(const Tensor& self, int dim) {
  SortRows s;
  s.data = dense(self, self.dtype());
  int64_t inner = 1;
  for (int d = 0; d < self.dim(); d++) {
    const int64_t size = self.sizes()[static_cast<std::size_t>(d)].number();
    if (d == dim) s.n = size;
    else s.rows *= size;
    if (d > dim) inner *= size;
  }
  s.layout = kernels::Rows::along(s.n, std::max<int64_t>(1, inner));
  return s;
}

}  // namespace ingot
