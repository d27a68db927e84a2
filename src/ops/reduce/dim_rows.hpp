// Runs a function along one dim of some tensors of equal sizes: softmax, scans, selections. Rows
// are independent and run in parallel.
#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "base/parallel.hpp"
#include "tensor/rows.hpp"

namespace ingot {

// Which row, its tensors' first elements, and the distance of their elements along the dim.
struct DimRow {
  int64_t index;                 // row-major over the other dims
  char* const* data;
  const int64_t* strides;
};

// Sizes along `dim` may differ between the tensors; all others are those of tensors[0]. A 0-dim
// tensor is one row of one element. f(DimRow) is called for every row; `length` is only for cutting
// work.
template <class F>
void for_each_row(std::span<const Tensor> tensors, int dim, int64_t length, const F& f) {
  const std::size_t count = tensors.size();
  std::vector<int64_t> sizes, along(count, 1);
  std::vector<std::vector<int64_t>> strides(count);  // of the other dims
  int64_t rows = 1;
  for (int d = 0; d < tensors[0].dim(); d++) {
    const auto i = static_cast<std::size_t>(d);
    if (d != dim) sizes.push_back(tensors[0].sizes()[i].number()), rows *= sizes.back();
    for (std::size_t k = 0; k < count; k++) {
      const int64_t s = tensors[k].strides()[i].number();
      if (d == dim) along[k] = s;
      else strides[k].push_back(s);
    }
  }
  parallel_for(0, rows, std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, length)), [&](int64_t begin, int64_t end) {
    std::vector<char*> p(count);
    for (int64_t r = begin; r < end; r++) {
      for (std::size_t k = 0; k < count; k++) {
        int64_t rest = r, offset = 0;
        for (std::size_t d = sizes.size(); d-- > 0;) {
          offset += rest % sizes[d] * strides[k][d];
          rest /= sizes[d];
        }
        p[k] = tensors[k]->bytes() + offset * tensors[k]->element_size();
      }
      f(DimRow{r, p.data(), along.data()});
    }
  });
}

// A row as dense compute-type values, loaded into memory that lives on between rows of one thread.
template <class T>
T* row_buffer(int64_t n, int which = 0) {
  thread_local std::vector<std::max_align_t> buffers[4];
  auto& b = buffers[which];
  const auto need = static_cast<std::size_t>(n) * sizeof(T) / sizeof(std::max_align_t) + 1;
  if (b.size() < need) b.resize(need);
  return reinterpret_cast<T*>(b.data());
}

}  // namespace ingot
