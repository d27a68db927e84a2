// Pooling of 1 to 3 spatial dimensions over contiguous planes, with gradients: maximum, average,
// and both adaptive.
//
// `A` is what is computed in where PyTorch keeps small types small: T, or Rounded of floats that
// hold such values (rounded.hpp).
//
// A plane is one channel of one image: x [planes, in...], y [planes, out...]. A call does planes
// [begin, end); they are independent, so any split gives the same bits. T is float or double, and
// int64_t for the maximum.
//
// Requires: in, out, kernel, stride, dilation >= 1, padding >= 0, out as the caller's rule (floor
// or ceil mode) gives it; outputs overlap no input. Gradients overwrite gx. No scratch. Owns
// nothing, allocates nothing.
//
// Windows, as in PyTorch: kernel position k of output o reads input o * stride - padding + k *
// dilation where that is inside.
// Adaptive windows are [floor(o in / out), ceil((o + 1) in / out)).
#pragma once
#include <cstdint>

namespace ingot::kernels {

struct Pool {
  int32_t dims;  // of space: 1, 2 or 3; the arrays hold that many
  int64_t in[3], out[3];
  int64_t kernel[3], stride[3], padding[3], dilation[3];  // not read by adaptive pooling
};

// y = the largest element of the window, indices (or null) = its flat place in the input plane. The
// first of equals wins; a
// NaN wins over everything, the last of them. A window with no input gives -infinity (the least
// integer) and its first place.
template <class T>
void max_pool_forward(const Pool& p, const T* x, T* y, int64_t* indices, int64_t begin, int64_t end);
template <class T>
void adaptive_max_pool_forward(const Pool& p, const T* x, T* y, int64_t* indices, int64_t begin, int64_t end);

// gx[indices] += gy, in order. Serves both; reads only dims, in and out.
template <class T, class A = T>
void max_pool_backward(const Pool& p, const T* gy, const int64_t* indices, T* gx, int64_t begin, int64_t end);

// y = the sum of the window divided by divisor_override if that is not zero, else by the number of
// its elements, which counts padding (but not what ceil mode adds beyond it) if count_include_pad.
// Dilation is taken as 1. A window wholly in the padding gives zero.
template <class T>
void avg_pool_forward(const Pool& p, bool count_include_pad, int64_t divisor_override, const T* x, T* y, int64_t begin,
                      int64_t end);
template <class T, class A = T>
void avg_pool_backward(const Pool& p, bool count_include_pad, int64_t divisor_override, const T* gy, T* gx, int64_t begin,
                       int64_t end);

// Divides by the width of the window in one dimension after the other.
template <class T, class A = T>
void adaptive_avg_pool_forward(const Pool& p, const T* x, T* y, int64_t begin, int64_t end);
template <class T, class A = T>
void adaptive_avg_pool_backward(const Pool& p, const T* gy, T* gx, int64_t begin, int64_t end);

}  // namespace ingot::kernels

// The same for compiled models.
#define INGOT_POOL_C(T, name)                                                                                                 \
  void ingot_k_max_pool_forward_##name(const ingot::kernels::Pool* p, const T* x, T* y, int64_t* indices, int64_t begin,      \
                                       int64_t end);                                                                          \
  void ingot_k_adaptive_max_pool_forward_##name(const ingot::kernels::Pool* p, const T* x, T* y, int64_t* indices,            \
                                                int64_t begin, int64_t end);                                                  \
  void ingot_k_max_pool_backward_##name(const ingot::kernels::Pool* p, const T* gy, const int64_t* indices, T* gx,            \
                                        int64_t begin, int64_t end);                                                          \
  void ingot_k_avg_pool_forward_##name(const ingot::kernels::Pool* p, int32_t count_include_pad, int64_t divisor_override,    \
                                       const T* x, T* y, int64_t begin, int64_t end);                                         \
  void ingot_k_avg_pool_backward_##name(const ingot::kernels::Pool* p, int32_t count_include_pad, int64_t divisor_override,   \
                                        const T* gy, T* gx, int64_t begin, int64_t end);                                      \
  void ingot_k_adaptive_avg_pool_forward_##name(const ingot::kernels::Pool* p, const T* x, T* y, int64_t begin, int64_t end); \
  void ingot_k_adaptive_avg_pool_backward_##name(const ingot::kernels::Pool* p, const T* gy, T* gx, int64_t begin, int64_t end);
extern "C" {
INGOT_POOL_C(float, f32)
INGOT_POOL_C(double, f64)
}
#undef INGOT_POOL_C
