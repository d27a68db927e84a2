// Interpolation is separable: each output coordinate of a dimension reads a few input coordinates
// with weights ("taps"), and an element is the sum over the product of taps. The gradient is the
// transpose. See resample.hpp for the contract.
#include "kernels/resample.hpp"

#include <cmath>

#include "kernels/rounded.hpp"

namespace ingot::kernels {
namespace {

constexpr int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }
constexpr int64_t clamp(int64_t x, int64_t low, int64_t high) { return max(low, min(x, high)); }

template <class T>
T near_cubic(T x, T a) {  // Keys' filter for |x| <= 1
  return ((a + T(2)) * x - (a + T(3))) * x * x + T(1);
}
template <class T>
T far_cubic(T x, T a) {  // and for 1 < |x| < 2
  return ((a * x - T(5) * a) * x + T(8) * a) * x - T(4) * a;
}

// Input coordinates a step of the output covers. A scale the user gave wins, as in PyTorch.
template <class T>
T step_of(const Resample& r, int d, bool align) {
  if (align) return r.out[d] > 1 ? T(r.in[d] - 1) / T(r.out[d] - 1) : T(0);
  return r.scale[d] > 0 ? static_cast<T>(1.0 / r.scale[d]) : T(r.in[d]) / T(r.out[d]);
}
bool antialiased(const Resample& r) { return r.mode == Interpolation::linear_aa || r.mode == Interpolation::cubic_aa; }
bool aligned(const Resample& r) {
  return r.align_corners != 0 && r.mode != Interpolation::nearest && r.mode != Interpolation::nearest_exact;
}

template <class T>
T support_of(const Resample& r, T step) {
  const T radius = r.mode == Interpolation::linear_aa ? T(1) : T(2);
  return step >= T(1) ? radius * step : radius;
}

// The most taps one output coordinate of dimension d can have.
template <class T>
int64_t taps_of(const Resample& r, int d) {
  switch (r.mode) {
    case Interpolation::nearest:
    case Interpolation::nearest_exact: return 1;
    case Interpolation::linear: return 2;
    case Interpolation::cubic: return 4;
    default: return static_cast<int64_t>(std::ceil(support_of(r, step_of<T>(r, d, aligned(r))))) * 2 + 1;
  }
}

// Taps of every output coordinate of one dimension: count[o] of them at [o * most].
template <class T>
struct Axis {
  int64_t most, in, out;
  int64_t* count;
  int64_t* at;
  T* weight;
};

template <class T>
void antialiased_taps(const Resample& r, int d, const Axis<T>& axis) {
  // PyTorch takes the step of aligned corners here but keeps pixel centres at one half.
  const T step = step_of<T>(r, d, aligned(r)), support = support_of(r, step);
  const T inverse = step >= T(1) ? T(1) / step : T(1), half = T(0.5);
  for (int64_t o = 0; o < axis.out; ++o) {
    int64_t* const at = axis.at + o * axis.most;
    T* const weight = axis.weight + o * axis.most;
    const T center = step * (T(o) + half);
    const int64_t first = max(static_cast<int64_t>(center - support + half), 0);
    const int64_t count = clamp(min(static_cast<int64_t>(center + support + half), axis.in) - first, 0, axis.most);
    T total = 0;
    for (int64_t k = 0; k < count; ++k) {
      const T x = std::fabs((T(k + first) - center + half) * inverse);
      if (r.mode == Interpolation::linear_aa) weight[k] = x < T(1) ? T(1) - x : T(0);
      else weight[k] = x < T(1) ? near_cubic(x, T(-0.5)) : x < T(2) ? far_cubic(x, T(-0.5)) : T(0);
      at[k] = first + k;
      total += weight[k];
    }
    for (int64_t k = 0; total != T(0) && k < count; ++k) weight[k] /= total;
    axis.count[o] = count;
  }
}

template <class W, class T>
void plain_taps(const Resample& r, int d, const Axis<T>& axis) {
  const bool align = aligned(r);
  const T step = step_of<T>(r, d, align);
  for (int64_t o = 0; o < axis.out; ++o) {
    int64_t* const at = axis.at + o * axis.most;
    T* const weight = axis.weight + o * axis.most;
    axis.count[o] = axis.most;
    T source = align ? step * T(o) : step * (T(o) + T(0.5)) - T(0.5);
    if (source < T(0) && r.mode != Interpolation::cubic) source = T(0);
    const int64_t last = axis.in - 1;
    switch (r.mode) {
      case Interpolation::nearest:
        at[0] = min(static_cast<int64_t>(std::floor(static_cast<float>(step * T(o)))), last);
        weight[0] = T(1);
        break;
      case Interpolation::nearest_exact:
        at[0] = min(static_cast<int64_t>(std::floor(static_cast<float>(source + T(0.5)))), last);
        weight[0] = T(1);
        break;
      case Interpolation::linear: {
        const int64_t i = axis.in == axis.out ? o : min(static_cast<int64_t>(source), last);
        const T part = axis.in == axis.out ? T(0) : source - T(i);
        weight[1] = T(W(part < T(0) ? T(0) : part > T(1) ? T(1) : part));
        weight[0] = T(W(T(1) - weight[1]));
        at[0] = i;
        at[1] = min(i + 1, last);
        if (axis.in == axis.out) axis.count[o] = 1;
        break;
      }
      default: {
        const int64_t i = min(static_cast<int64_t>(std::floor(source)), last);
        const T t = source - T(i) < T(0) ? T(0) : source - T(i) > T(1) ? T(1) : source - T(i), a = T(-0.75);
        weight[0] = T(W(far_cubic(t + T(1), a)));
        weight[1] = T(W(near_cubic(t, a)));
        weight[2] = T(W(near_cubic(T(1) - t, a)));
        weight[3] = T(W(far_cubic(T(2) - t, a)));
        for (int k = 0; k < 4; ++k) at[k] = clamp(i + k - 1, 0, last);
      }
    }
  }
}

// The three axes, missing ones of size one, with their taps in scratch.
template <class T, class W>
struct Axes {
  Axis<T> axis[3];
  int64_t in_size = 1, out_size = 1;
  Axes(const Resample& r, void* scratch) {
    int64_t* integers = static_cast<int64_t*>(scratch);
    for (int d = 0; d < 3; ++d) {
      const int from = d - (3 - r.dims);
      Axis<T>& a = axis[d];
      a = {from < 0 ? 1 : taps_of<T>(r, from), from < 0 ? 1 : r.in[from], from < 0 ? 1 : r.out[from], integers, nullptr, nullptr};
      integers += a.out;
      a.at = integers;
      integers += a.out * a.most;
      in_size *= a.in;
      out_size *= a.out;
    }
    T* weights = reinterpret_cast<T*>(integers);
    for (int d = 0; d < 3; ++d) {
      Axis<T>& a = axis[d];
      a.weight = weights;
      weights += a.out * a.most;
      if (d < 3 - r.dims) *a.count = 1, *a.at = 0, *a.weight = T(1);
      else if (antialiased(r)) antialiased_taps(r, d - (3 - r.dims), a);
      else plain_taps<W>(r, d - (3 - r.dims), a);
    }
  }
};

// Calls f(first output of a line, input line, weight) for every input line each output line reads.
template <class T, class W, class F>
void for_each_line(const Axes<T, W>& s, F f) {
  const Axis<T>&ad = s.axis[0], &ah = s.axis[1], &aw = s.axis[2];
  int64_t o = 0;
  for (int64_t d = 0; d < ad.out; ++d)
    for (int64_t h = 0; h < ah.out; ++h, o += aw.out)
      for (int64_t kd = d * ad.most; kd < d * ad.most + ad.count[d]; ++kd)
        for (int64_t kh = h * ah.most; kh < h * ah.most + ah.count[h]; ++kh)
          f(o, (ad.at[kd] * ah.in + ah.at[kh]) * aw.in, ad.weight[kd] * ah.weight[kh]);
}

// ---- bytes

// Taps that read one element, at the border, are one; then weights are whole numbers of 2^-bits,
// the most bits with which the largest fits
// 16. Returns the bits.
int whole_weights(const Axis<double>& axis) {
  double top = 0;
  for (int64_t o = 0; o < axis.out; ++o) {
    int64_t* const at = axis.at + o * axis.most;
    double* const weight = axis.weight + o * axis.most;
    int64_t count = 0;
    for (int64_t k = 0; k < axis.count[o]; ++k) {
      if (count > 0 && at[count - 1] == at[k]) {
        weight[count - 1] += weight[k];
      } else {
        at[count] = at[k];
        weight[count++] = weight[k];
      }
    }
    axis.count[o] = count;
    for (int64_t k = 0; k < count; ++k) top = weight[k] > top ? weight[k] : top;
  }
  int bits = 0;
  while (bits < 22 && static_cast<int>(0.5 + top * (1 << (bits + 1))) < 1 << 15) ++bits;
  for (int64_t o = 0; o < axis.out; ++o)
    for (int64_t k = o * axis.most; k < o * axis.most + axis.count[o]; ++k)
      axis.weight[k] = std::trunc(axis.weight[k] * (1 << bits) + (axis.weight[k] < 0 ? -0.5 : 0.5));
  return bits;
}

// One line along `axis`: elements `step_in` and `step_out` apart.
void byte_line(const Axis<double>& axis, int bits, const uint8_t* from, int64_t step_in, uint8_t* to, int64_t step_out) {
  for (int64_t o = 0; o < axis.out; ++o) {
    int32_t sum = 1 << (bits - 1);
    for (int64_t k = o * axis.most; k < o * axis.most + axis.count[o]; ++k)
      sum += static_cast<int32_t>(axis.weight[k]) * from[axis.at[k] * step_in];
    to[o * step_out] = static_cast<uint8_t>(clamp(sum >> bits, 0, 255));
  }
}

}  // namespace

int64_t resample_bytes_scratch(const Resample& r) { return resample_scratch_bytes<double>(r) + r.in[0] * r.out[1]; }

void resample_bytes(const Resample& r, const uint8_t* x, uint8_t* y, int64_t begin, int64_t end, void* scratch) {
  if (begin >= end) return;
  const Axes<double, double> s(r, scratch);
  const Axis<double>&rows = s.axis[1], &columns = s.axis[2];
  const int row_bits = whole_weights(rows), column_bits = whole_weights(columns);
  uint8_t* const wide = static_cast<uint8_t*>(scratch) + resample_scratch_bytes<double>(r);
  for (int64_t plane = begin; plane < end; ++plane) {
    for (int64_t h = 0; h < rows.in; ++h)
      byte_line(columns, column_bits, x + plane * s.in_size + h * columns.in, 1, wide + h * columns.out, 1);
    for (int64_t w = 0; w < columns.out; ++w)
      byte_line(rows, row_bits, wide + w, columns.out, y + plane * s.out_size + w, columns.out);
  }
}

template <class T>
int64_t resample_scratch_bytes(const Resample& r) {
  int64_t outputs = 0, taps = 0;
  for (int d = 0; d < 3; ++d) {
    outputs += d < r.dims ? r.out[d] : 1;
    taps += d < r.dims ? r.out[d] * taps_of<T>(r, d) : 1;
  }
  return (outputs + taps) * static_cast<int64_t>(sizeof(int64_t)) + (taps + 1) * static_cast<int64_t>(sizeof(T));
}

template <class T, class W>
void resample_forward(const Resample& r, const T* x, T* y, int64_t begin, int64_t end, void* scratch) {
  if (begin >= end) return;
  const Axes<T, W> s(r, scratch);
  const Axis<T>& w = s.axis[2];
  for (int64_t plane = begin; plane < end; ++plane) {
    const T* const from = x + plane * s.in_size;
    T* const to = y + plane * s.out_size;
    for (int64_t i = 0; i < s.out_size; ++i) to[i] = T(0);
    for_each_line(s, [&](int64_t o, int64_t line, T scale) {
      for (int64_t i = 0; i < w.out; ++i) {
        T sum = 0;
        for (int64_t k = i * w.most; k < i * w.most + w.count[i]; ++k) sum += w.weight[k] * from[line + w.at[k]];
        to[o + i] += scale * sum;
      }
    });
  }
}

template <class T>
void resample_backward(const Resample& r, const T* gy, T* gx, int64_t begin, int64_t end, void* scratch) {
  if (begin >= end) return;
  const Axes<T, T> s(r, scratch);
  const Axis<T>& w = s.axis[2];
  for (int64_t plane = begin; plane < end; ++plane) {
    const T* const from = gy + plane * s.out_size;
    T* const to = gx + plane * s.in_size;
    for (int64_t i = 0; i < s.in_size; ++i) to[i] = T(0);
    for_each_line(s, [&](int64_t o, int64_t line, T scale) {
      for (int64_t i = 0; i < w.out; ++i) {
        const T g = scale * from[o + i];
        for (int64_t k = i * w.most; k < i * w.most + w.count[i]; ++k) to[line + w.at[k]] += w.weight[k] * g;
      }
    });
  }
}

#define INGOT_RESAMPLE(T, name)                                                                                         \
  template int64_t resample_scratch_bytes<T>(const Resample&);                                                          \
  template void resample_forward<T>(const Resample&, const T*, T*, int64_t, int64_t, void*);                            \
  template void resample_backward<T>(const Resample&, const T*, T*, int64_t, int64_t, void*);                           \
  extern "C" int64_t ingot_k_resample_scratch_bytes_##name(const Resample* r) { return resample_scratch_bytes<T>(*r); } \
  extern "C" void ingot_k_resample_forward_##name(const Resample* r, const T* x, T* y, int64_t begin, int64_t end,      \
                                                  void* scratch) {                                                      \
    resample_forward(*r, x, y, begin, end, scratch);                                                                    \
  }                                                                                                                     \
  extern "C" void ingot_k_resample_backward_##name(const Resample* r, const T* gy, T* gx, int64_t begin, int64_t end,   \
                                                   void* scratch) {                                                     \
    resample_backward(*r, gy, gx, begin, end, scratch);                                                                 \
  }
INGOT_RESAMPLE(float, f32)
INGOT_RESAMPLE(double, f64)
#undef INGOT_RESAMPLE
template void resample_forward<float, Rounded<BFloat16>>(const Resample&, const float*, float*, int64_t, int64_t, void*);
template void resample_forward<float, Rounded<Half>>(const Resample&, const float*, float*, int64_t, int64_t, void*);

}  // namespace ingot::kernels
