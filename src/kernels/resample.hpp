// Resampling of 1 to 3 spatial dimensions over contiguous buffers, float and double, with
// gradients: interpolation to a new size, and sampling at the points of a grid. Coordinates,
// weights and borders follow PyTorch, computed in T.
//
// Requires: sizes >= 1 (batch, channels, planes >= 0); outputs overlap no input. Gradients
// overwrite. Any split of
//   the tasks gives the same bits. Owns nothing, allocates nothing.
#pragma once
#include <cstdint>

namespace ingot::kernels {

// ---- to a new size ----

enum class Interpolation : int32_t {
  nearest,        // floor(o * scale)
  nearest_exact,  // floor((o + 0.5) * scale)
  linear,         // linear, bilinear, trilinear
  cubic,          // Keys with a = -0.75, indices clamped to the border
  linear_aa,      // antialiased: the triangle filter widened by the scale when shrinking
  cubic_aa,       // antialiased: Keys with a = -0.5
};

struct Resample {
  int32_t dims;  // of space: 1, 2 or 3; the arrays hold that many
  Interpolation mode;
  int32_t align_corners;  // 0 or 1; nearest modes ignore it
  int64_t in[3], out[3];
  double scale[3];  // out / in as the user gave it, or 0: computed from the sizes
};

// x [planes, in...] -> y [planes, out...]; a call does planes [begin, end).
// Scratch: resample_scratch_bytes, 8-byte aligned, one for each call running at the same time.
// Weights are rounded to `W`: T, or of floats that hold values of a smaller type that one
// (rounded.hpp).
template <class T>
int64_t resample_scratch_bytes(const Resample& r);
template <class T, class W = T>
void resample_forward(const Resample& r, const T* x, T* y, int64_t begin, int64_t end, void* scratch);
template <class T>
void resample_backward(const Resample& r, const T* gy, T* gx, int64_t begin, int64_t end, void* scratch);

// Images of bytes (dims 2, linear and cubic modes), as PyTorch has them: each row first, then each
// column, both with weights of 16 bits and a result that is a byte again.
int64_t resample_bytes_scratch(const Resample& r);
void resample_bytes(const Resample& r, const uint8_t* x, uint8_t* y, int64_t begin, int64_t end, void* scratch);

// ---- at the points of a grid ----

enum class GridInterpolation : int32_t { linear, nearest, cubic };  // numbered as in aten::grid_sampler
enum class GridPadding : int32_t { zeros, border, reflection };

// x [batch, channels, in...], grid [batch, out..., dims] with coordinates in [-1, 1], the last
// dimension of space first;
// y [batch, channels, out...].
struct GridSample {
  int32_t dims;  // 1, 2 or 3
  GridInterpolation mode;
  GridPadding padding;
  int32_t align_corners;
  int64_t batch, channels;
  int64_t in[3], out[3];
};

// A task is one line (last dimension) of the output of one image, all channels. `A` is what is
// computed in: T, or of floats that hold values of a smaller type Rounded of that (rounded.hpp), as
// PyTorch computes them.
int64_t grid_sample_forward_tasks(const GridSample& s);
template <class T, class A = T>
void grid_sample_forward(const GridSample& s, const T* x, const T* grid, T* y, int64_t begin, int64_t end);

// A task is one image. gx or ggrid may be null. A point that is not finite has no gradient; it
// reads zero, or with border and reflection padding an element of the border.
template <class T, class A = T>
void grid_sample_backward(const GridSample& s, const T* gy, const T* x, const T* grid, T* gx, T* ggrid, int64_t begin,
                          int64_t end);

}  // namespace ingot::kernels

// The same for compiled models.
#define INGOT_RESAMPLE_C(T, name)                                                                                              \
  int64_t ingot_k_resample_scratch_bytes_##name(const ingot::kernels::Resample* r);                                            \
  void ingot_k_resample_forward_##name(const ingot::kernels::Resample* r, const T* x, T* y, int64_t begin, int64_t end,        \
                                       void* scratch);                                                                         \
  void ingot_k_resample_backward_##name(const ingot::kernels::Resample* r, const T* gy, T* gx, int64_t begin, int64_t end,     \
                                        void* scratch);                                                                        \
  void ingot_k_grid_sample_forward_##name(const ingot::kernels::GridSample* s, const T* x, const T* grid, T* y, int64_t begin, \
                                          int64_t end);                                                                        \
  void ingot_k_grid_sample_backward_##name(const ingot::kernels::GridSample* s, const T* gy, const T* x, const T* grid, T* gx, \
                                           T* ggrid, int64_t begin, int64_t end);
extern "C" {
int64_t ingot_k_grid_sample_forward_tasks(const ingot::kernels::GridSample* s);
INGOT_RESAMPLE_C(float, f32)
INGOT_RESAMPLE_C(double, f64)
}
#undef INGOT_RESAMPLE_C
