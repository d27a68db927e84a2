#include "ops/common/accumulate.hpp"

#include <algorithm>
#include <complex>

#include "base/dtype.hpp"
#include "tensor/rows.hpp"

namespace ingot {
namespace {

constexpr int64_t kChunk = 256;

template <class T>
void add_row(DType dtype, Compute compute, char* const* p, const int64_t* s, int64_t n) {
  T a[kChunk], b[kChunk];
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t m = std::min(kChunk, n - i);
    char* to = p[0] + i * s[0] * size_of(dtype);
    load_row(dtype, to, s[0], m, compute, a);
    load_row(dtype, p[1] + i * s[1] * size_of(dtype), s[1], m, compute, b);
    for (int64_t k = 0; k < m; k++) a[k] = static_cast<T>(a[k] + b[k]);
    store_row(compute, a, m, dtype, to, s[0]);
  }
}

}  // namespace

void add_elements(const Tensor& dst, const Tensor& src) {
  const std::vector<int64_t> sizes = dst.sizes().values();
  const DType dtype = dst.dtype();
  const Compute c = compute_type(dtype);
  walk_rows(sizes, {walked(dst, sizes), walked(src, sizes)}, true, [&](char* const* p, const int64_t* s, int64_t n) {
    switch (c) {
      case Compute::f32: return add_row<float>(dtype, c, p, s, n);
      case Compute::f64: return add_row<double>(dtype, c, p, s, n);
      case Compute::i64: return add_row<int64_t>(dtype, c, p, s, n);
      case Compute::b8: return add_row<bool>(dtype, c, p, s, n);
      case Compute::c128: return add_row<std::complex<double>>(dtype, c, p, s, n);
    }
  });
}

}  // namespace ingot
