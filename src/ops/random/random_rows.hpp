// How random kernels fill a result: element i, in row-major order, from numbers that depend on
// (seed, offset, i) alone.
#pragma once
#include <algorithm>

#include "base/parallel.hpp"
#include "op/op.hpp"
#include "tensor/random.hpp"
#include "tensor/rows.hpp"

namespace ingot {

// The next draw of the generator an op was given, or of the default one. Kernels take it: a fake
// call never advances one.
inline Draw next_draw(const Value& generator) {
  const Ref<Generator> g = generator.is_none() ? default_generator() : generator.generator();
  return g->next();
}

// Calls rows(T* numbers, begin, end) for pieces of [0, numel) on any number of threads and stores
// what it wrote, rounded to out's dtype. A complex element counts as two numbers, real part first.
template <class T, class F>
void fill_numbers(const Tensor& out, Compute compute, const F& rows) {
  constexpr int64_t kChunk = 512, kNumbersPerThread = 1 << 13;
  const Tensor dense = out.is_contiguous() ? out : make_tensor(Geometry::contiguous(out.sizes(), out.dtype()), out.device());
  const DType dtype = real_of(out.dtype());
  const int64_t n = out.numel().number() * (is_complex(out.dtype()) ? 2 : 1), bytes = size_of(dtype);
  char* data = static_cast<char*>(dense.data_ptr());
  parallel_for(0, n, kNumbersPerThread, [&](int64_t begin, int64_t end) {
    T numbers[kChunk];
    for (int64_t b = begin; b < end; b += kChunk) {
      const int64_t e = std::min(end, b + kChunk);
      rows(numbers, b, e);
      store_row(compute, numbers, e - b, dtype, data + b * bytes, 1);
    }
  });
  if (!dense.is_same(out)) copy_elements(out, dense);
}
// The same with float numbers for float32 and smaller types and double ones for every other.
template <class F>
void fill_real(const Tensor& out, const F& rows) {
  if (compute_type(out.dtype()) == Compute::f32) fill_numbers<float>(out, Compute::f32, rows);
  else if (out.dtype() == DType::c64) fill_numbers<float>(out, Compute::f32, rows);
  else fill_numbers<double>(out, Compute::f64, rows);
}

}  // namespace ingot
