// Moves elements between any dtype and the compute types, and walks strided tensors row by row.
// Everything eager that is not a special kernel is built from these.
#pragma once
#include <span>
#include <vector>

#include "base/dtype.hpp"
#include "tensor/impl.hpp"

namespace ingot {

constexpr int size_of(Compute c) {
  switch (c) {
    case Compute::f32: return 4;
    case Compute::f64:
    case Compute::i64: return 8;
    case Compute::b8: return 1;
    case Compute::c128: return 16;
  }
  return 0;
}

// dst[i] = src[i * stride] converted, i < n; dst dense. Strides are in elements.
void load_row(DType from, const void* src, int64_t stride, int64_t n, Compute to, void* dst);
// dst[i * stride] = src[i] converted, i < n; src dense.
void store_row(Compute from, const void* src, int64_t n, DType to, void* dst, int64_t stride);

// One tensor taking part in a walk. Strides in elements, already broadcast to the walk's sizes.
struct Walked {
  char* data;
  std::vector<int64_t> strides;
  int64_t itemsize;
};
// Broadcasts t's strides to `sizes` (0 where a size is 1 or missing). Requires plain numbers and
// real bytes.
Walked walked(const Tensor& t, const std::vector<int64_t>& sizes);

using RowFn = void (*)(void* ctx, char* const* data, const int64_t* strides, int64_t n);
// Calls row(data, inner strides in elements, n) for each innermost row of `sizes`, in an order
// chosen for locality of the first operand; adjacent dims are merged where all operands allow it.
// Rows may run on several threads when `parallel`: then no two elements of the first operand may
// share an address.
void walk_rows(std::vector<int64_t> sizes, std::vector<Walked> operands, bool parallel, RowFn row, void* ctx);

template <class F>
void walk_rows(const std::vector<int64_t>& sizes, std::vector<Walked> operands, bool parallel, const F& f) {
  walk_rows(
      sizes, std::move(operands), parallel,
      [](void* c, char* const* d, const int64_t* s, int64_t n) { (*static_cast<const F*>(c))(d, s, n); },
      const_cast<void*>(static_cast<const void*>(&f)));
}

// dst[...] = src[...] with broadcasting of src and conversion. They must not overlap unless they
// are the same view.
void copy_elements(const Tensor& dst, const Tensor& src);
void fill_elements(const Tensor& dst, const Scalar& value);

}  // namespace ingot
