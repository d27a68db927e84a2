// Matrix multiplication over raw strided buffers: C = alpha A B + beta C.
//
// T is float, double, std::complex<float>, std::complex<double> or int64_t (which wraps on
// overflow). Smaller types are converted by the caller.
//
// Work is cut into gemm_tasks(m, n, k) independent tiles of C; a call does tiles [begin, end).
// Every element of C is summed in an order fixed by the sizes, the strides and the CPU, so any
// split over threads gives the same bits. Float is summed in float, in blocks along k; those of a
// long k are added up in double (base/long_sum.hpp).
//
// Requires: m, n, k >= 0; C does not overlap A or B, and no two elements of C share an address;
// scratch of at least gemm_scratch_bytes<T>(m, n, k) bytes, 64-byte aligned, one for each call that
// runs at the same time.
// Ensures: when beta is zero C is not read (it may hold NaN or be uninitialised). k = 0 gives C =
// beta C. Owns nothing, allocates nothing.
#pragma once
#include <complex>
#include <cstdint>

namespace ingot::kernels {

// Element (i, j) of A is a[i * a_row + j * a_col]; strides are in elements and may be zero (A, B)
// or negative.
template <class T>
struct Gemm {
  int64_t m, n, k;
  T alpha;
  const T* a;
  int64_t a_row, a_col;
  const T* b;
  int64_t b_row, b_col;
  T beta;
  T* c;
  int64_t c_row, c_col;
};

int64_t gemm_tasks(int64_t m, int64_t n, int64_t k);

template <class T>
int64_t gemm_scratch_bytes(int64_t m, int64_t n, int64_t k);

template <class T>
void gemm(const Gemm<T>& g, int64_t begin, int64_t end, void* scratch);

namespace detail {
// 0: the baseline of the target, 1: AVX2 and FMA, 2: AVX-512. What this CPU has; gemm uses it.
int vector_level();
// gemm with the kernels of one level. Requires level <= vector_level(). Tests call it; scratch
// suits every level.
template <class T>
void gemm_at(int level, const Gemm<T>& g, int64_t begin, int64_t end, void* scratch);
}  // namespace detail

// All tiles by one thread.
template <class T>
inline void gemm(const Gemm<T>& g, void* scratch) {
  gemm(g, 0, gemm_tasks(g.m, g.n, g.k), scratch);
}

}  // namespace ingot::kernels

// The same for compiled models.
extern "C" {
int64_t ingot_k_gemm_tasks(int64_t m, int64_t n, int64_t k);
int64_t ingot_k_gemm_scratch_bytes_f32(int64_t m, int64_t n, int64_t k);
int64_t ingot_k_gemm_scratch_bytes_f64(int64_t m, int64_t n, int64_t k);
int64_t ingot_k_gemm_scratch_bytes_i64(int64_t m, int64_t n, int64_t k);
int64_t ingot_k_gemm_scratch_bytes_c64(int64_t m, int64_t n, int64_t k);
int64_t ingot_k_gemm_scratch_bytes_c128(int64_t m, int64_t n, int64_t k);
void ingot_k_gemm_f32(const ingot::kernels::Gemm<float>* g, int64_t begin, int64_t end, void* scratch);
void ingot_k_gemm_f64(const ingot::kernels::Gemm<double>* g, int64_t begin, int64_t end, void* scratch);
void ingot_k_gemm_i64(const ingot::kernels::Gemm<int64_t>* g, int64_t begin, int64_t end, void* scratch);
void ingot_k_gemm_c64(const ingot::kernels::Gemm<std::complex<float>>* g, int64_t begin, int64_t end, void* scratch);
void ingot_k_gemm_c128(const ingot::kernels::Gemm<std::complex<double>>* g, int64_t begin, int64_t end, void* scratch);
}
