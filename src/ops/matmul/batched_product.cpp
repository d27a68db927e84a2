#include "ops/matmul/batched_product.hpp"

#include "base/parallel.hpp"
#include "kernels/gemm.hpp"
#include "ops/common/dense.hpp"

namespace ingot {
namespace {

template <class T>
T number_as(const Scalar& s) {
  if constexpr (std::is_same_v<T, int64_t>) return s.to_int().value();
  else if constexpr (std::is_floating_point_v<T>) return static_cast<T>(s.to_double());
  else return T(s.to_complex());
}

// Integers wrap; complex numbers are multiplied by the formula, without a care for infinities.
template <class T>
T product_of(T a, T b) {
  return a * b;
}
int64_t product_of(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); }
template <class R>
std::complex<R> product_of(std::complex<R> a, std::complex<R> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
template <class T>
T sum_of(T a, T b) {
  return a + b;
}
int64_t sum_of(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }

constexpr int64_t kSmall = 400;  // multiplications of one matrix, from which on PyTorch calls its library

template <class T>
void run_loop(const kernels::Gemm<T>& g) {
  for (int64_t i = 0; i < g.m; i++)
    for (int64_t j = 0; j < g.n; j++) {
      T sum = 0;
      for (int64_t p = 0; p < g.k; p++)
        sum = sum_of(sum, product_of(g.a[i * g.a_row + p * g.a_col], g.b[p * g.b_row + j * g.b_col]));
      T& c = g.c[i * g.c_row + j * g.c_col];
      if (g.alpha != T(1)) sum = product_of(g.alpha, sum);
      c = g.beta == T(0) ? sum : sum_of(product_of(g.beta, c), sum);
    }
}

template <class T>
void run(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha, const Scalar& beta, bool loop_if_small) {
  const auto sizes = out.sizes().values(), as = a.strides().values(), bs = b.strides().values(), cs = out.strides().values();
  kernels::Gemm<T> g{};
  g.m = sizes[1];
  g.n = sizes[2];
  g.k = a.size(2).value();
  g.alpha = number_as<T>(alpha);
  g.beta = number_as<T>(beta);
  g.a_row = as[1], g.a_col = as[2], g.b_row = bs[1], g.b_col = bs[2], g.c_row = cs[1], g.c_col = cs[2];
  const T *pa = a.data<T>(), *pb = b.data<T>();
  T* pc = out.data<T>();
  const auto matrix = [&](int64_t batch) {
    kernels::Gemm<T> one = g;
    one.a = pa + batch * as[0];
    one.b = pb + batch * bs[0];
    one.c = pc + batch * cs[0];
    return one;
  };
  if (loop_if_small && g.m * g.n * g.k < kSmall) {
    parallel_for(0, sizes[0], 256, [&](int64_t begin, int64_t end) {
      for (int64_t batch = begin; batch < end; batch++) run_loop(matrix(batch));
    });
    return;
  }
  const int64_t tiles = kernels::gemm_tasks(g.m, g.n, g.k);
  if (tiles == 0 || sizes[0] == 0) return;
  const int64_t work = std::max<int64_t>(1, g.m * g.n * std::max<int64_t>(g.k, 1) / tiles);  // of one tile
  parallel_for(0, sizes[0] * tiles, std::max<int64_t>(1, 32768 / work), [&](int64_t begin, int64_t end) {
    const Scratch scratch(kernels::gemm_scratch_bytes<T>(g.m, g.n, g.k));
    for (int64_t t = begin; t < end;) {
      const int64_t batch = t / tiles, stop = std::min(end, (batch + 1) * tiles);
      kernels::gemm(matrix(batch), t - batch * tiles, stop - batch * tiles, scratch.get());
      t = stop;
    }
  });
}

}  // namespace

void batched_product(const Tensor& result, const Tensor& a, const Tensor& b, const Scalar& alpha, const Tensor& addend,
                     const Scalar& beta, bool loop_if_small) {
  const DType t = kernel_dtype(result.dtype());
  const DenseResult out(result, t);
  // Any strides will do, only the dtype must be the kernel's.
  const Tensor x = a.dtype() == t ? a : dense(a, t), y = b.dtype() == t ? b : dense(b, t);
  if (addend.defined()) copy_elements(out.buffer(), addend);
  const Scalar factor = addend.defined() ? beta : Scalar(0);
  switch (t) {
    case DType::f32: run<float>(out.buffer(), x, y, alpha, factor, loop_if_small); break;
    case DType::f64: run<double>(out.buffer(), x, y, alpha, factor, loop_if_small); break;
    case DType::c64: run<std::complex<float>>(out.buffer(), x, y, alpha, factor, loop_if_small); break;
    case DType::c128: run<std::complex<double>>(out.buffer(), x, y, alpha, factor, loop_if_small); break;
    default: run<int64_t>(out.buffer(), x, y, alpha, factor, loop_if_small); break;
  }
  out.finish();
}

}  // namespace ingot
