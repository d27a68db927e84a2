// Sampling at grid points. In each dimension a point has up to four taps, each with a weight and
// the weight's derivative by the place it is read at; every mode and both gradients follow from
// these. See resample.hpp for the contract.
//
// `T` is what memory holds, `A` what is computed in. The order of the operations is PyTorch's:
// where A rounds every one of them (rounded.hpp) another order gives other numbers, and a place
// next to the middle of two elements another element.
#include <cmath>

#include "kernels/resample.hpp"
#include "kernels/rounded.hpp"

// A product is rounded before something is added to it: whatever else a compiler makes of it would
// depend on how it was asked to optimise, and the kernels of models are to have the bits of this
// process's.
#if defined(__clang__)
#pragma clang fp contract(off)
#else
#pragma GCC optimize("fp-contract=off")
#endif

namespace ingot::kernels {
namespace {

// Where a coordinate is read after padding, and the derivative of that by the coordinate.
template <class A>
struct Point {
  A at, slope;
};

template <class A>
Point<A> reflect(Point<A> p, int64_t twice_low, int64_t twice_high, bool in_plane) {
  if (twice_low == twice_high) return {A(0), A(0)};
  const A low = A(twice_low) / A(2);
  const A x = fabs(p.at - low);
  bool flipped = p.at < low;
  if (in_plane) {
    const A twice_span = A(twice_high - twice_low), extra = x - trunc(x / twice_span) * twice_span, back = twice_span - extra;
    flipped ^= extra > back;
    return {(extra > back ? back : extra) + low, flipped ? -p.slope : p.slope};
  }
  const A span = A(twice_high - twice_low) / A(2), extra = fmod(x, span), flips = floor(x / span);
  const bool even = fmod(flips, A(2)) == A(0);
  flipped ^= !even;
  return {even ? extra + low : span - extra + low, flipped ? -p.slope : p.slope};
}

template <class A>
Point<A> clip(Point<A> p, int64_t size) {
  if (!(p.at > A(0))) return {A(0), A(0)};  // also NaN
  if (p.at >= A(size - 1)) return {A(size - 1), A(0)};
  return p;
}

template <class A>
Point<A> pad(Point<A> p, int64_t size, const GridSample& s) {
  if (s.padding == GridPadding::border) return clip(p, size);
  if (s.padding == GridPadding::zeros) return p;
  const bool in_plane = s.dims == 2;
  return clip(s.align_corners ? reflect(p, 0, 2 * (size - 1), in_plane) : reflect(p, -1, 2 * size - 1, in_plane), size);
}

template <class A>
struct Taps {
  int count;
  int64_t at[4];  // -1: outside, reads zero
  A weight[4], slope[4];
  A mult;  // derivative of the place by the grid's coordinate
};

constexpr int64_t inside(int64_t i, int64_t size) { return i >= 0 && i < size ? i : -1; }

template <class A>
Taps<A> taps_at(A coordinate, int64_t size, const GridSample& s) {
  Point<A> p = s.align_corners ? Point<A>{(coordinate + A(1)) / A(2) * A(size - 1), A(size - 1) / A(2)}
                               : Point<A>{((coordinate + A(1)) * A(size) - A(1)) / A(2), A(size) / A(2)};
  if (s.mode != GridInterpolation::cubic) p = pad(p, size, s);
  if (!(fabs(p.at) < A(1 << 30))) return {};  // also NaN: nothing is read
  if (s.mode == GridInterpolation::nearest)
    return {1, {inside(static_cast<int64_t>(nearbyint(p.at)), size)}, {A(1)}, {A(0)}, A(0)};
  const A below = floor(p.at), t = p.at - below;
  const int64_t i = static_cast<int64_t>(below);
  if (s.mode == GridInterpolation::linear) {
    const A first = s.dims == 2 ? A(1) - t : A(i + 1) - p.at;
    return {2, {inside(i, size), inside(i + 1, size)}, {first, t}, {A(-1), A(1)}, p.slope};
  }
  const A a = A(-0.75);
  auto near = [a](A x) { return ((a + A(2)) * x - (a + A(3))) * x * x + A(1); };
  auto far = [a](A x) { return ((a * x - A(5) * a) * x + A(8) * a) * x - A(4) * a; };
  auto near_slope = [a](A x) { return (A(3) * (a + A(2)) * x - A(2) * (a + A(3))) * x; };
  auto far_slope = [a](A x) { return (A(3) * a * x - A(10) * a) * x + A(8) * a; };
  Taps<A> taps{4,
               {},
               {far(t + A(1)), near(t), near(A(1) - t), far(A(2) - t)},
               {far_slope(t + A(1)), near_slope(t), -near_slope(A(1) - t), -far_slope(A(2) - t)},
               p.slope};
  for (int k = 0; k < 4; ++k)  // a cubic tap is padded by itself
    taps.at[k] = inside(static_cast<int64_t>(pad(Point<A>{A(i + k - 1), A(1)}, size, s).at), size);
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

// The taps of one grid point in all three dimensions; a missing dimension has one tap. False when
// nothing is read.
template <class A, class T>
bool taps_of_point(const GridSample& s, const Sizes& z, const T* point, Taps<A> taps[3]) {
  bool any = true;
  for (int d = 0; d < 3; ++d) {
    taps[d] = d < 3 - s.dims ? Taps<A>{1, {0}, {A(1)}, {A(0)}, A(0)} : taps_at(A(point[2 - d]), z.in[d], s);
    any = any && taps[d].count > 0;
  }
  return any;
}

// The element that taps kd, kh, kw read; -1: outside.
template <class A>
int64_t place(const Sizes& z, const Taps<A> taps[3], int kd, int kh, int kw) {
  const int64_t d = taps[0].at[kd], h = taps[1].at[kh], w = taps[2].at[kw];
  return d >= 0 && h >= 0 && w >= 0 ? (d * z.in[1] + h) * z.in[2] + w : -1;
}

// The elements that a point reads, and their weights.
template <class A>
struct Reads {
  int count = 0;
  int64_t at[16];
  A weight[16];
};
template <class A>
Reads<A> reads_of(const Sizes& z, const Taps<A> taps[3]) {
  Reads<A> r;
  for (int kd = 0; kd < taps[0].count; ++kd)
    for (int kh = 0; kh < taps[1].count; ++kh)
      for (int kw = 0; kw < taps[2].count; ++kw) {
        const int64_t at = place(z, taps, kd, kh, kw);
        if (at < 0) continue;
        r.at[r.count] = at;
        r.weight[r.count++] = taps[2].weight[kw] * taps[1].weight[kh] * taps[0].weight[kd];
      }
  return r;
}

// Along rows first, then across them.
template <class A, class T>
A cubic_sample(const Sizes& z, const Taps<A> taps[3], const T* plane) {
  A sum = A(0);
  for (int kh = 0; kh < 4; ++kh) {
    A row = A(0);
    for (int kw = 0; kw < 4; ++kw)
      if (const int64_t at = place(z, taps, 0, kh, kw); at >= 0) row += A(plane[at]) * taps[2].weight[kw];
    sum += row * taps[1].weight[kh];
  }
  return sum;
}

// ---- gradients

template <class A>
struct PointTaps {
  Taps<A> taps[3];
  bool any;  // something is read
  A slope[3];
};

// PyTorch's plane kernel takes as many points at a time as its vectors have lanes, and adds what
// all of them give to one corner before it comes to the next. That order shows where every sum is
// rounded.
template <class A>
constexpr int kPointsTogether = 1;
template <class Small>
constexpr int kPointsTogether<Rounded<Small>> = 8;

// What `count` points add to the gradient of a plane; `g` is that of their results.
template <class A, class T>
void spread(const GridSample& s, const Sizes& z, const PointTaps<A>* points, int count, const T* g, T* gx) {
  const bool cubic = s.mode == GridInterpolation::cubic;
  const int taps = cubic ? 4 : s.mode == GridInterpolation::linear ? 2 : 1, depth = s.dims == 3 ? taps : 1;
  for (int kd = 0; kd < depth; ++kd)
    for (int outer = 0; outer < taps; ++outer)
      for (int inner = 0; inner < taps; ++inner) {
        const int kh = cubic ? inner : outer, kw = cubic ? outer : inner;
        for (int k = 0; k < count; ++k) {
          const Taps<A>* const t = points[k].taps;
          const int64_t at = points[k].any ? place(z, t, kd, kh, kw) : -1;
          if (at < 0) continue;
          const A wz = t[0].weight[kd], wy = t[1].weight[kh], wx = t[2].weight[kw];
          gx[at] = T(A(gx[at]) + (cubic ? A(g[k]) * wx * wy : wx * wy * wz * A(g[k])));
        }
      }
}

// The slopes are by the place. `g` and the plane `x` are one channel's.
template <class A, class T>
A value_at(const T* x, int64_t at) {
  return at >= 0 ? A(x[at]) : A(0);
}

template <class A, class T>
void linear_plane_slope(const Sizes& z, const Taps<A> taps[3], A g, const T* x, A slope[3]) {
  const A *wy = taps[1].weight, *wx = taps[2].weight;
  A v[2][2];
  for (int kh = 0; kh < 2; ++kh)
    for (int kw = 0; kw < 2; ++kw) v[kh][kw] = value_at<A>(x, place(z, taps, 0, kh, kw));
  slope[2] += ((v[0][1] - v[0][0]) * wy[0] + (v[1][1] - v[1][0]) * wy[1]) * g;
  slope[1] += ((v[1][0] - v[0][0]) * wx[0] + (v[1][1] - v[0][1]) * wx[1]) * g;
}

template <class A, class T>
void linear_slope(const Sizes& z, const Taps<A> taps[3], A g, const T* x, A slope[3]) {
  for (int kd = 0; kd < taps[0].count; ++kd)
    for (int kh = 0; kh < taps[1].count; ++kh)
      for (int kw = 0; kw < taps[2].count; ++kw) {
        const int64_t at = place(z, taps, kd, kh, kw);
        if (at < 0) continue;
        const A wz = taps[0].weight[kd], wy = taps[1].weight[kh], wx = taps[2].weight[kw], v = A(x[at]);
        slope[2] += taps[2].slope[kw] * (v * wy * wz * g);
        slope[1] += taps[1].slope[kh] * (v * wx * wz * g);
        slope[0] += taps[0].slope[kd] * (v * wx * wy * g);
      }
}

template <class A, class T>
void cubic_slope(const Sizes& z, const Taps<A> taps[3], A g, const T* x, A slope[3]) {
  for (int kw = 0; kw < 4; ++kw)
    for (int kh = 0; kh < 4; ++kh) {
      const A wy = taps[1].weight[kh], wx = taps[2].weight[kw], v = value_at<A>(x, place(z, taps, 0, kh, kw));
      slope[2] += v * g * taps[2].slope[kw] * wy;
      slope[1] += v * g * taps[1].slope[kh] * wx;
    }
}

}  // namespace

int64_t grid_sample_forward_tasks(const GridSample& s) {
  const Sizes z(s);
  return z.line == 0 ? 0 : s.batch * (z.out_size / z.line);
}

template <class T, class A>
void grid_sample_forward(const GridSample& s, const T* x, const T* grid, T* y, int64_t begin, int64_t end) {
  const Sizes z(s);
  for (int64_t task = begin; task < end; ++task) {
    const int64_t first = task * z.line, image = first / z.out_size;  // points are numbered over the batch
    for (int64_t point = first; point < first + z.line; ++point) {
      Taps<A> taps[3];
      const bool any = taps_of_point(s, z, grid + point * s.dims, taps), cubic = any && s.mode == GridInterpolation::cubic;
      const Reads<A> reads = any && !cubic ? reads_of(z, taps) : Reads<A>{};
      for (int64_t c = 0; c < s.channels; ++c) {
        const T* const plane = x + (image * s.channels + c) * z.in_size;
        A sum = cubic ? cubic_sample(z, taps, plane) : A(0);
        for (int k = 0; k < reads.count; ++k) sum += A(plane[reads.at[k]]) * reads.weight[k];
        y[(image * s.channels + c) * z.out_size + point - image * z.out_size] = T(sum);
      }
    }
  }
}

template <class T, class A>
void grid_sample_backward(const GridSample& s, const T* gy, const T* x, const T* grid, T* gx, T* ggrid, int64_t begin,
                          int64_t end) {
  const Sizes z(s);
  const bool nearest = s.mode == GridInterpolation::nearest;
  const auto add_slope = s.mode == GridInterpolation::cubic ? cubic_slope<A, T>
                         : s.dims == 2                      ? linear_plane_slope<A, T>
                                                            : linear_slope<A, T>;
  const int64_t together = s.dims == 2 ? kPointsTogether<A> : 1;
  for (int64_t image = begin; image < end; ++image) {
    const int64_t planes = image * s.channels;
    for (int64_t i = planes * z.in_size; gx != nullptr && i < (planes + s.channels) * z.in_size; ++i) gx[i] = T(0);
    for (int64_t first = 0; first < z.out_size; first += together) {
      PointTaps<A> points[kPointsTogether<A>];
      const int count = static_cast<int>(together < z.out_size - first ? together : z.out_size - first);
      const int64_t point = image * z.out_size + first;
      for (int k = 0; k < count; ++k) {
        points[k].any = taps_of_point(s, z, grid + (point + k) * s.dims, points[k].taps);
        for (A& a : points[k].slope) a = A(0);
      }
      for (int64_t c = planes; c < planes + s.channels; ++c) {
        const T* const g = gy + c * z.out_size + first;
        if (gx != nullptr) spread(s, z, points, count, g, gx + c * z.in_size);
        for (int k = 0; !nearest && k < count; ++k)
          if (points[k].any) add_slope(z, points[k].taps, A(g[k]), x + c * z.in_size, points[k].slope);
      }
      for (int k = 0; ggrid != nullptr && k < count; ++k)
        for (int d = 0; d < s.dims; ++d)
          ggrid[(point + k) * s.dims + d] =
              points[k].any && !nearest ? T(points[k].slope[2 - d] * points[k].taps[2 - d].mult) : T(0);
    }
  }
}

#define INGOT_GRID_SAMPLE(T, A)                                                                         \
  template void grid_sample_forward<T, A>(const GridSample&, const T*, const T*, T*, int64_t, int64_t); \
  template void grid_sample_backward<T, A>(const GridSample&, const T*, const T*, const T*, T*, T*, int64_t, int64_t);
INGOT_GRID_SAMPLE(float, float)
INGOT_GRID_SAMPLE(double, double)
INGOT_GRID_SAMPLE(float, Rounded<BFloat16>)
INGOT_GRID_SAMPLE(float, Rounded<Half>)
#undef INGOT_GRID_SAMPLE

#define INGOT_GRID_SAMPLE_C(T, name)                                                                                      \
  extern "C" void ingot_k_grid_sample_forward_##name(const GridSample* s, const T* x, const T* grid, T* y, int64_t begin, \
                                                     int64_t end) {                                                       \
    grid_sample_forward(*s, x, grid, y, begin, end);                                                                      \
  }                                                                                                                       \
  extern "C" void ingot_k_grid_sample_backward_##name(const GridSample* s, const T* gy, const T* x, const T* grid, T* gx, \
                                                      T* ggrid, int64_t begin, int64_t end) {                             \
    grid_sample_backward(*s, gy, x, grid, gx, ggrid, begin, end);                                                         \
  }
INGOT_GRID_SAMPLE_C(float, f32)
INGOT_GRID_SAMPLE_C(double, f64)
#undef INGOT_GRID_SAMPLE_C

}  // namespace ingot::kernels

extern "C" int64_t ingot_k_grid_sample_forward_tasks(const ingot::kernels::GridSample* s) {
  return ingot::kernels::grid_sample_forward_tasks(*s);
}
