// Discrete Fourier transforms of any length along rows, float and double.
//
//   out[row][j] = scale * sum over k of in[row][k] exp(-+ 2 pi i j k / n)     (minus: forward, plus: inverse)
//
// Lengths whose prime factors are at most 13 use mixed radix (n log n); others Bluestein's
// convolution with a power of two.
// Twiddle factors are computed in double for either type, so the error grows with log n only.
//
// A plan (tables for one length) lives in memory of the caller: fft_plan_bytes(n) bytes, 16-byte
// aligned, filled by fft_make_plan; it may be shared by any number of calls at once, and kept for
// further calls of the same n and T.
// Requires: n >= 1; each row's output either is its input exactly (in place: same address and
// stride) or does not overlap any input; scratch of fft_scratch_bytes(n), 16-byte aligned, one for
// each call running at the same time.
// Ensures: rows are independent; any split of [begin, end) gives the same bits. Owns nothing,
// allocates nothing.
#pragma once
#include <complex>
#include <cstdint>

#include "kernels/rows.hpp"

namespace ingot::kernels {

template <class T>
int64_t fft_plan_bytes(int64_t n);
template <class T>
void fft_make_plan(int64_t n, void* plan);
template <class T>
int64_t fft_scratch_bytes(int64_t n);

// Rows [begin, end) of complex data; scale is 1, 1 / sqrt(n) or 1 / n as the normalisation wants.
template <class T>
void fft_rows(const void* plan, int64_t n, bool inverse, T scale, const std::complex<T>* in, Rows in_rows, std::complex<T>* out,
              Rows out_rows, int64_t begin, int64_t end, void* scratch);

// Real input of n elements, the n / 2 + 1 first outputs of the forward transform.
template <class T>
void fft_real_rows(const void* plan, int64_t n, T scale, const T* in, Rows in_rows, std::complex<T>* out, Rows out_rows,
                   int64_t begin, int64_t end, void* scratch);

// Inverse of a Hermitian spectrum given by its n / 2 + 1 first elements (the imaginary parts of the
// first, and of the last for even n, are ignored), real output of n elements.
template <class T>
void fft_hermitian_rows(const void* plan, int64_t n, T scale, const std::complex<T>* in, Rows in_rows, T* out, Rows out_rows,
                        int64_t begin, int64_t end, void* scratch);

}  // namespace ingot::kernels

// The same for compiled models.
#define INGOT_FFT_C(T, name)                                                                                                    \
  int64_t ingot_k_fft_plan_bytes_##name(int64_t n);                                                                             \
  void ingot_k_fft_make_plan_##name(int64_t n, void* plan);                                                                     \
  int64_t ingot_k_fft_scratch_bytes_##name(int64_t n);                                                                          \
  void ingot_k_fft_rows_##name(const void* plan, int64_t n, int32_t inverse, T scale, const std::complex<T>* in,                \
                               const ingot::kernels::Rows* in_rows, std::complex<T>* out, const ingot::kernels::Rows* out_rows, \
                               int64_t begin, int64_t end, void* scratch);                                                      \
  void ingot_k_fft_real_rows_##name(const void* plan, int64_t n, T scale, const T* in, const ingot::kernels::Rows* in_rows,     \
                                    std::complex<T>* out, const ingot::kernels::Rows* out_rows, int64_t begin, int64_t end,     \
                                    void* scratch);                                                                             \
  void ingot_k_fft_hermitian_rows_##name(const void* plan, int64_t n, T scale, const std::complex<T>* in,                       \
                                         const ingot::kernels::Rows* in_rows, T* out, const ingot::kernels::Rows* out_rows,     \
                                         int64_t begin, int64_t end, void* scratch);
extern "C" {
INGOT_FFT_C(float, f32)
INGOT_FFT_C(double, f64)
}
#undef INGOT_FFT_C
