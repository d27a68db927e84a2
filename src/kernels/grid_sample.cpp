// Sampling at grid points. In each dimension a point has up to four taps, each with a weight and the weight's
// derivative by the grid coordinate; every mode and both gradients follow from these. See resample.hpp for the
// contract.
#include <cmath>

#include "kernels/resample.hpp"

namespace ingot::kernels {
namespace {

// Where a coordinate is read after padding, and the derivative of that by the coordinate.
template <class T>
struct Point {
  T at, slope;
};

template <class T>
Point<T> reflect(Point<T> p, int64_t twice_low, int64_t twice_high) {
  if (twice_low == twice_high) return {T(0), T(0)};
  const T low = T(twice_low) / T(2), span = T(twice_high - twice_low) / T(2);
  const T x = std::fabs(p.at - low), extra = std::fmod(x, span), flips = std::floor(x / span);
  if (p.at < low) p.slope = -p.slope;
  const bool even = std::fmod(flips, T(2)) == T(0);
  return {even ? extra + low : span - extra + low, even ? p.slope : -p.slope};
}

template <class T>
Point<T> clip(Point<T> p, int64_t size) {
  if (!(p.at > T(0))) return {T(0), T(0)};  // also NaN
  if (p.at >= T(size - 1)) return {T(size - 1), T(0)};
  return p;
}

template <class T>
Point<T> pad(Point<T> p, int64_t size, const GridSample& s) {
  if (s.padding == GridPadding::border) return clip(p, size);
  if (s.padding == GridPadding::zeros) return p;
  return clip(s.align_corners ? reflect(p, 0, 2 * (size - 1)) : reflect(p, -1, 2 * size - 1), size);
}

template <class T>
struct Taps {
  int count;
  int64_t at[4];      // -1: outside, reads zero
  T weight[4], slope[4];
};

constexpr int64_t inside(int64_t i, int64_t size) { return i >= 0 && i < size ? i : -1; }

template <class T>
Taps<T> taps_at(T coordinate, int64_t size, const GridSample& s) {
  Point<T> p = s.align_corners ? Point<T>{(coordinate + T(1)) / T(2) * T(size - 1), T(size - 1) / T(2)}
                               : Point<T>{((coordinate + T(1)) * T(size) - T(1)) / T(2), T(size) / T(2)};
  if (s.mode != GridInterpolation::cubic) p = pad(p, size, s);
  if (!(std::fabs(p.at) < T(1 << 30))) return {0, {}, {}, {}};  // also NaN: nothing is read
  if (s.mode == GridInterpolation::nearest)
    return {1, {inside(static_cast<int64_t>(std::nearbyint(p.at)), size)}, {T(1)}, {T(0)}};
  const T floor = std::floor(p.at), t = p.at - floor;
  const int64_t i = static_cast<int64_t>(floor);
  if (s.mode == GridInterpolation::linear) return {2, {inside(i, size), inside(i + 1, size)}, {T(1) - t, t}, {-p.slope, p.slope}};
  const T a = T(-0.75);
  auto near = [a](T x) { return ((a + T(2)) * x - (a + T(3))) * x * x + T(1); };
  auto far = [a](T x) { return ((a * x - T(5) * a) * x + T(8) * a) * x - T(4) * a; };
  auto near_slope = [a](T x) { return (T(3) * (a + T(2)) * x - T(2) * (a + T(3))) * x; };
  auto far_slope = [a](T x) { return (T(3) * a * x - T(10) * a) * x + T(8) * a; };
  Taps<T> taps{
      4,
      {},
      {far(t + T(1)), near(t), near(T(1) - t), far(T(2) - t)},
      {far_slope(t + T(1)) * p.slope, near_slope(t) * p.slope, -near_slope(T(1) - t) * p.slope, -far_slope(T(2) - t) * p.slope}};
  for (int k = 0; k < 4; ++k)  // a cubic tap is padded by itself
    taps.at[k] = inside(static_cast<int64_t>(pad(Point<T>{T(i + k - 1), T(1)}, size, s).at), size);
  return taps;
}

struct Sizes {
  int64_t in[3] = {1, 1, 1}, in_size = 1, out_size = 1, line;
  explicit Sizes(const GridSample& s) : line(s.out[s.dims - 1]) {
    for (int d = 0; d < s.dims; ++d) {
      in[3 - s.dims + d] = s.in[d];
      in_size *= s.in[d];
      out_size *= s.out[d];
    }
  }
};

// The taps of one grid point in all three dimensions; a missing dimension has one tap. False when nothing is read.
template <class T>
bool taps_of_point(const GridSample& s, const Sizes& z, const T* point, Taps<T> taps[3]) {
  bool any = true;
  for (int d = 0; d < 3; ++d) {
    taps[d] = d < 3 - s.dims ? Taps<T>{1, {0}, {T(1)}, {T(0)}} : taps_at(point[2 - d], z.in[d], s);
    any = any && taps[d].count > 0;
  }
  return any;
}

// Calls f(place, kd, kh, kw) for each element inside that the taps read.
template <class T, class F>
void for_each_read(const Sizes& z, const Taps<T> taps[3], F f) {
  for (int kd = 0; kd < taps[0].count; ++kd)
    for (int kh = 0; kh < taps[1].count; ++kh)
      for (int kw = 0; kw < taps[2].count; ++kw) {
        const int64_t d = taps[0].at[kd], h = taps[1].at[kh], w = taps[2].at[kw];
        if (d >= 0 && h >= 0 && w >= 0) f((d * z.in[1] + h) * z.in[2] + w, kd, kh, kw);
      }
}

}  // namespace

int64_t grid_sample_forward_tasks(const GridSample& s) {
  const Sizes z(s);
  return z.line == 0 ? 0 : s.batch * (z.out_size / z.line);
}

template <class T>
void grid_sample_forward(const GridSample& s, const T* x, const T* grid, T* y, int64_t begin, int64_t end) {
  const Sizes z(s);
  for (int64_t task = begin; task < end; ++task) {
    const int64_t first = task * z.line, image = first / z.out_size;  // points are numbered over the batch
    for (int64_t point = first; point < first + z.line; ++point) {
      Taps<T> taps[3];
      const bool any = taps_of_point(s, z, grid + point * s.dims, taps);
      int64_t place[64];
      T weight[64];
      int reads = 0;
      if (any)
        for_each_read(z, taps, [&](int64_t at, int kd, int kh, int kw) {
          place[reads] = at;
          weight[reads++] = taps[0].weight[kd] * taps[1].weight[kh] * taps[2].weight[kw];
        });
      for (int64_t c = 0; c < s.channels; ++c) {
        const T* const plane = x + (image * s.channels + c) * z.in_size;
        T sum = 0;
        for (int k = 0; k < reads; ++k) sum += weight[k] * plane[place[k]];
        y[(image * s.channels + c) * z.out_size + point - image * z.out_size] = sum;
      }
    }
  }
}

template <class T>
void grid_sample_backward(const GridSample& s, const T* gy, const T* x, const T* grid, T* gx, T* ggrid, int64_t begin,
                          int64_t end) {
  const Sizes z(s);
  for (int64_t image = begin; image < end; ++image) {
    const int64_t planes = image * s.channels;
    for (int64_t i = planes * z.in_size; gx != nullptr && i < (planes + s.channels) * z.in_size; ++i) gx[i] = T(0);
    for (int64_t point = image * z.out_size; point < (image + 1) * z.out_size; ++point) {
      Taps<T> taps[3];
      T slope[3] = {};
      if (taps_of_point(s, z, grid + point * s.dims, taps)) {
        const T* const g = gy + planes * z.out_size + point - image * z.out_size;
        for_each_read(z, taps, [&](int64_t at, int kd, int kh, int kw) {
          const T wd = taps[0].weight[kd], wh = taps[1].weight[kh], ww = taps[2].weight[kw];
          T dot = 0;  // over channels, of gradient and value
          for (int64_t c = 0; c < s.channels; ++c) {
            const int64_t element = (planes + c) * z.in_size + at;
            if (gx != nullptr) gx[element] += wd * wh * ww * g[c * z.out_size];
            if (ggrid != nullptr) dot += g[c * z.out_size] * x[element];
          }
          slope[0] += taps[0].slope[kd] * wh * ww * dot;
          slope[1] += wd * taps[1].slope[kh] * ww * dot;
          slope[2] += wd * wh * taps[2].slope[kw] * dot;
        });
      }
      for (int d = 0; ggrid != nullptr && d < s.dims; ++d) ggrid[point * s.dims + d] = slope[2 - d];
    }
  }
}

#define INGOT_GRID_SAMPLE(T, name)                                                                                        \
  template void grid_sample_forward<T>(const GridSample&, const T*, const T*, T*, int64_t, int64_t);                      \
  template void grid_sample_backward<T>(const GridSample&, const T*, const T*, const T*, T*, T*, int64_t, int64_t);       \
  extern "C" void ingot_k_grid_sample_forward_##name(const GridSample* s, const T* x, const T* grid, T* y, int64_t begin, \
                                                     int64_t end) {                                                       \
    grid_sample_forward(*s, x, grid, y, begin, end);                                                                      \
  }                                                                                                                       \
  extern "C" void ingot_k_grid_sample_backward_##name(const GridSample* s, const T* gy, const T* x, const T* grid, T* gx, \
                                                      T* ggrid, int64_t begin, int64_t end) {                             \
    grid_sample_backward(*s, gy, x, grid, gx, ggrid, begin, end);                                                         \
  }
INGOT_GRID_SAMPLE(float, f32)
INGOT_GRID_SAMPLE(double, f64)
#undef INGOT_GRID_SAMPLE

}  // namespace ingot::kernels

extern "C" int64_t ingot_k_grid_sample_forward_tasks(const ingot::kernels::GridSample* s) {
  return ingot::kernels::grid_sample_forward_tasks(*s);
}
