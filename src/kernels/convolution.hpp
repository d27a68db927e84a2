// Convolution of 1 to 3 spatial dimensions over contiguous buffers, float and double, with both
// gradients.
//
//   x [batch, in_channels, in...]   w [out_channels, in_channels / groups, kernel...]   y [batch, out_channels, out...]
//
// Convolutions go through gemm over gathered columns ("im2col") in blocks that stay in cache; a
// group of one input channel and few outputs (depthwise) is summed directly.
//
// A transposed convolution is the same three functions with roles exchanged: describe the ordinary
// convolution whose input is the transposed one's output; then its forward is
// convolution_backward_input, its input gradient convolution_forward, and its weight gradient
// convolution_backward_weight with x = gradient of the output and gy = input.
//
// A call does tasks [begin, end) of the count its *_tasks function gives; tasks write disjoint
// memory and any split gives the same bits.
// Requires: sizes as above with out = (in + 2 padding - dilation (kernel - 1) - 1) / stride + 1 (a
// smaller out is allowed: the rest of the input is ignored), all of kernel, stride, dilation,
// groups >= 1, padding >= 0, groups dividing both channel counts; outputs overlap no input; scratch
// of the *_scratch_bytes given, 64-byte aligned, one for each call running at the same time.
// Owns nothing, allocates nothing.
#pragma once
#include <cstdint>

namespace ingot::kernels {

struct Convolution {
  int32_t dims;  // of space: 1, 2 or 3; the arrays below hold that many
  int64_t batch, groups, in_channels, out_channels;
  int64_t in[3], kernel[3], out[3], stride[3], padding[3], dilation[3];
};

// y = conv(x, w) + bias. bias [out_channels] may be null.
int64_t convolution_forward_tasks(const Convolution& c);
template <class T>
int64_t convolution_forward_scratch_bytes(const Convolution& c);
template <class T>
void convolution_forward(const Convolution& c, const T* x, const T* w, const T* bias, T* y, int64_t begin, int64_t end,
                         void* scratch);

// gx = gradient of x from gy, the gradient of y; overwrites gx. bias [in_channels] may be null:
// added to gx, which is what a transposed convolution's forward wants.
int64_t convolution_backward_input_tasks(const Convolution& c);
template <class T>
int64_t convolution_backward_input_scratch_bytes(const Convolution& c);
template <class T>
void convolution_backward_input(const Convolution& c, const T* gy, const T* w, const T* bias, T* gx, int64_t begin, int64_t end,
                                void* scratch);

// gw = gradient of w, summed over the batch in order; overwrites gw.
int64_t convolution_backward_weight_tasks(const Convolution& c);
template <class T>
int64_t convolution_backward_weight_scratch_bytes(const Convolution& c);
template <class T>
void convolution_backward_weight(const Convolution& c, const T* gy, const T* x, T* gw, int64_t begin, int64_t end, void* scratch);

// ---- the gathering itself (im2col and col2im, for unfold and fold) ----

// columns[(ch, tap), p - p0] = the input element under `tap` at output position p, zero in the
// padding, for positions [p0, p1) of the flattened output and `channels` channels at x [channels,
// in...]. Row stride is p1 - p0.
template <class T>
void gather_columns(const Convolution& c, const T* x, int64_t channels, int64_t p0, int64_t p1, T* columns);

// The transpose: x[...] += columns for all positions; x [channels, in...] is not cleared first. T
// may be a Rounded (rounded.hpp).
template <class T>
void scatter_columns(const Convolution& c, const T* columns, int64_t channels, T* x);

}  // namespace ingot::kernels

// The same for compiled models.
#define INGOT_CONVOLUTION_C(T, name)                                                                                         \
  int64_t ingot_k_convolution_forward_scratch_bytes_##name(const ingot::kernels::Convolution*);                              \
  int64_t ingot_k_convolution_backward_input_scratch_bytes_##name(const ingot::kernels::Convolution*);                       \
  int64_t ingot_k_convolution_backward_weight_scratch_bytes_##name(const ingot::kernels::Convolution*);                      \
  void ingot_k_convolution_forward_##name(const ingot::kernels::Convolution*, const T* x, const T* w, const T* bias, T* y,   \
                                          int64_t begin, int64_t end, void* scratch);                                        \
  void ingot_k_convolution_backward_input_##name(const ingot::kernels::Convolution*, const T* gy, const T* w, const T* bias, \
                                                 T* gx, int64_t begin, int64_t end, void* scratch);                          \
  void ingot_k_convolution_backward_weight_##name(const ingot::kernels::Convolution*, const T* gy, const T* x, T* gw,        \
                                                  int64_t begin, int64_t end, void* scratch);
extern "C" {
int64_t ingot_k_convolution_forward_tasks(const ingot::kernels::Convolution*);
int64_t ingot_k_convolution_backward_input_tasks(const ingot::kernels::Convolution*);
int64_t ingot_k_convolution_backward_weight_tasks(const ingot::kernels::Convolution*);
INGOT_CONVOLUTION_C(float, f32)
INGOT_CONVOLUTION_C(double, f64)
}
#undef INGOT_CONVOLUTION_C
