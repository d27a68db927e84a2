// One walk over outputs and their windows serves every kind of pooling: a kind differs in how a
// window is found and in what is done with its elements. See pool.hpp for the contract.
#include "kernels/pool.hpp"

#include <limits>

#include "kernels/rounded.hpp"

namespace ingot::kernels {
namespace {

// Input positions start, start + step, ... below end; `counted` is the width the average divides
// by.
struct Window {
  int64_t start, end, step, counted;
};

// Both give window(d, o) for d counted from the last dimension of three; missing dimensions have
// size one.
struct Sized {
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, in_size = 1, out_size = 1;
  explicit Sized(const Pool& p) {
    for (int d = 0; d < p.dims; ++d) {
      in[3 - p.dims + d] = p.in[d];
      out[3 - p.dims + d] = p.out[d];
      in_size *= p.in[d];
      out_size *= p.out[d];
    }
  }
};

struct KernelWindows : Sized {
  int64_t kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, padding[3] = {}, dilation[3] = {1, 1, 1};
  bool include_pad;
  int64_t divisor_override;  // 0: none
  KernelWindows(const Pool& p, bool dilated, bool include = false, int64_t divisor = 0)
      : Sized(p), include_pad(include), divisor_override(divisor) {
    for (int d = 0; d < p.dims; ++d) {
      const int to = 3 - p.dims + d;
      kernel[to] = p.kernel[d];
      stride[to] = p.stride[d];
      padding[to] = p.padding[d];
      if (dilated) dilation[to] = p.dilation[d];
    }
  }
  Window window(int d, int64_t o) const {
    const int64_t first = o * stride[d] - padding[d], last = first + (kernel[d] - 1) * dilation[d] + 1;
    Window w{first, last < in[d] ? last : in[d], dilation[d], 0};
    if (first < 0) w.start += (-first + dilation[d] - 1) / dilation[d] * dilation[d];
    const int64_t padded = last < in[d] + padding[d] ? last : in[d] + padding[d];
    w.counted = include_pad ? padded - first : w.end - w.start;
    return w;
  }
  template <class A>
  A share(A sum, const Window& wd, const Window& wh, const Window& ww) const {
    return sum / A(divisor_override != 0 ? divisor_override : wd.counted * wh.counted * ww.counted);
  }
};

struct AdaptiveWindows : Sized {
  explicit AdaptiveWindows(const Pool& p) : Sized(p) {}
  Window window(int d, int64_t o) const {
    const int64_t start = o * in[d] / out[d], end = ((o + 1) * in[d] + out[d] - 1) / out[d];
    return {start, end, 1, end - start};
  }
  template <class A>
  A share(A sum, const Window& wd, const Window& wh, const Window& ww) const {
    return sum / A(wd.counted) / A(wh.counted) / A(ww.counted);
  }
};

// Calls f(output, windows) for each output of a plane; windows are of the three dimensions.
template <class Windows, class F>
inline void for_each_output(const Windows& s, F f) {
  int64_t o = 0;
  for (int64_t d = 0; d < s.out[0]; ++d) {
    const Window wd = s.window(0, d);
    for (int64_t h = 0; h < s.out[1]; ++h) {
      const Window wh = s.window(1, h);
      for (int64_t w = 0; w < s.out[2]; ++w) f(o++, wd, wh, s.window(2, w));
    }
  }
}

// Calls f(place) for each element of a window, in order.
template <class Windows, class F>
inline void for_each_element(const Windows& s, const Window& wd, const Window& wh, const Window& ww, F f) {
  for (int64_t d = wd.start; d < wd.end; d += wd.step)
    for (int64_t h = wh.start; h < wh.end; h += wh.step) {
      const int64_t line = (d * s.in[1] + h) * s.in[2];
      for (int64_t w = ww.start; w < ww.end; w += ww.step) f(line + w);
    }
}

template <class T>
constexpr T lowest() {
  return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
}

template <class T, class Windows>
void max_forward(const Windows& s, const T* x, T* y, int64_t* indices, int64_t begin, int64_t end) {
  for (int64_t plane = begin; plane < end; ++plane) {
    const T* const from = x + plane * s.in_size;
    for_each_output(s, [&](int64_t o, const Window& wd, const Window& wh, const Window& ww) {
      T best = lowest<T>();
      int64_t at = (wd.start * s.in[1] + wh.start) * s.in[2] + ww.start;
      for_each_element(s, wd, wh, ww, [&](int64_t i) {
        const T v = from[i];
        if (v > best || v != v) {
          best = v;
          at = i;
        }
      });
      y[plane * s.out_size + o] = best;
      if (indices != nullptr) indices[plane * s.out_size + o] = at;
    });
  }
}

inline bool empty(const Window& w) { return w.start >= w.end; }

template <class A, class T, class Windows>
void avg_forward(const Windows& s, const T* x, T* y, int64_t begin, int64_t end) {
  for (int64_t plane = begin; plane < end; ++plane) {
    const T* const from = x + plane * s.in_size;
    for_each_output(s, [&](int64_t o, const Window& wd, const Window& wh, const Window& ww) {
      A sum = A(0);
      for_each_element(s, wd, wh, ww, [&](int64_t i) { sum += A(from[i]); });
      y[plane * s.out_size + o] = empty(wd) || empty(wh) || empty(ww) ? T(0) : T(s.share(sum, wd, wh, ww));
    });
  }
}

template <class T>
void clear(T* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = T(0);
}

template <class A, class T, class Windows>
void avg_backward(const Windows& s, const T* gy, T* gx, int64_t begin, int64_t end) {
  for (int64_t plane = begin; plane < end; ++plane) {
    T* const to = gx + plane * s.in_size;
    clear(to, s.in_size);
    for_each_output(s, [&](int64_t o, const Window& wd, const Window& wh, const Window& ww) {
      if (empty(wd) || empty(wh) || empty(ww)) return;
      const A share = s.share(A(gy[plane * s.out_size + o]), wd, wh, ww);
      for_each_element(s, wd, wh, ww, [&](int64_t i) { to[i] = T(A(to[i]) + share); });
    });
  }
}

}  // namespace

template <class T>
void max_pool_forward(const Pool& p, const T* x, T* y, int64_t* indices, int64_t begin, int64_t end) {
  max_forward(KernelWindows(p, true), x, y, indices, begin, end);
}
template <class T>
void adaptive_max_pool_forward(const Pool& p, const T* x, T* y, int64_t* indices, int64_t begin, int64_t end) {
  max_forward(AdaptiveWindows(p), x, y, indices, begin, end);
}

template <class T, class A>
void max_pool_backward(const Pool& p, const T* gy, const int64_t* indices, T* gx, int64_t begin, int64_t end) {
  const Sized s(p);
  for (int64_t plane = begin; plane < end; ++plane) {
    T* const to = gx + plane * s.in_size;
    clear(to, s.in_size);
    for (int64_t o = plane * s.out_size; o < (plane + 1) * s.out_size; ++o) to[indices[o]] = T(A(to[indices[o]]) + A(gy[o]));
  }
}

template <class T>
void avg_pool_forward(const Pool& p, bool count_include_pad, int64_t divisor_override, const T* x, T* y, int64_t begin,
                      int64_t end) {
  avg_forward<T>(KernelWindows(p, false, count_include_pad, divisor_override), x, y, begin, end);
}
template <class T, class A>
void avg_pool_backward(const Pool& p, bool count_include_pad, int64_t divisor_override, const T* gy, T* gx, int64_t begin,
                       int64_t end) {
  avg_backward<A>(KernelWindows(p, false, count_include_pad, divisor_override), gy, gx, begin, end);
}
template <class T, class A>
void adaptive_avg_pool_forward(const Pool& p, const T* x, T* y, int64_t begin, int64_t end) {
  avg_forward<A>(AdaptiveWindows(p), x, y, begin, end);
}
template <class T, class A>
void adaptive_avg_pool_backward(const Pool& p, const T* gy, T* gx, int64_t begin, int64_t end) {
  avg_backward<A>(AdaptiveWindows(p), gy, gx, begin, end);
}

template void max_pool_forward<int64_t>(const Pool&, const int64_t*, int64_t*, int64_t*, int64_t, int64_t);
template void adaptive_max_pool_forward<int64_t>(const Pool&, const int64_t*, int64_t*, int64_t*, int64_t, int64_t);

#define INGOT_POOL_IN(T, A)                                                                           \
  template void max_pool_backward<T, A>(const Pool&, const T*, const int64_t*, T*, int64_t, int64_t); \
  template void avg_pool_backward<T, A>(const Pool&, bool, int64_t, const T*, T*, int64_t, int64_t);  \
  template void adaptive_avg_pool_forward<T, A>(const Pool&, const T*, T*, int64_t, int64_t);         \
  template void adaptive_avg_pool_backward<T, A>(const Pool&, const T*, T*, int64_t, int64_t);
INGOT_POOL_IN(float, float)
INGOT_POOL_IN(double, double)
INGOT_POOL_IN(float, Rounded<BFloat16>)
INGOT_POOL_IN(float, Rounded<Half>)
#undef INGOT_POOL_IN

#define INGOT_POOL(T, name)                                                                                                  \
  template void max_pool_forward<T>(const Pool&, const T*, T*, int64_t*, int64_t, int64_t);                                  \
  template void adaptive_max_pool_forward<T>(const Pool&, const T*, T*, int64_t*, int64_t, int64_t);                         \
  template void avg_pool_forward<T>(const Pool&, bool, int64_t, const T*, T*, int64_t, int64_t);                             \
  extern "C" void ingot_k_max_pool_forward_##name(const Pool* p, const T* x, T* y, int64_t* indices, int64_t begin,          \
                                                  int64_t end) {                                                             \
    max_pool_forward(*p, x, y, indices, begin, end);                                                                         \
  }                                                                                                                          \
  extern "C" void ingot_k_adaptive_max_pool_forward_##name(const Pool* p, const T* x, T* y, int64_t* indices, int64_t begin, \
                                                           int64_t end) {                                                    \
    adaptive_max_pool_forward(*p, x, y, indices, begin, end);                                                                \
  }                                                                                                                          \
  extern "C" void ingot_k_max_pool_backward_##name(const Pool* p, const T* gy, const int64_t* indices, T* gx, int64_t begin, \
                                                   int64_t end) {                                                            \
    max_pool_backward(*p, gy, indices, gx, begin, end);                                                                      \
  }                                                                                                                          \
  extern "C" void ingot_k_avg_pool_forward_##name(const Pool* p, int32_t count_include_pad, int64_t divisor_override,        \
                                                  const T* x, T* y, int64_t begin, int64_t end) {                            \
    avg_pool_forward(*p, count_include_pad != 0, divisor_override, x, y, begin, end);                                        \
  }                                                                                                                          \
  extern "C" void ingot_k_avg_pool_backward_##name(const Pool* p, int32_t count_include_pad, int64_t divisor_override,       \
                                                   const T* gy, T* gx, int64_t begin, int64_t end) {                         \
    avg_pool_backward(*p, count_include_pad != 0, divisor_override, gy, gx, begin, end);                                     \
  }                                                                                                                          \
  extern "C" void ingot_k_adaptive_avg_pool_forward_##name(const Pool* p, const T* x, T* y, int64_t begin, int64_t end) {    \
    adaptive_avg_pool_forward(*p, x, y, begin, end);                                                                         \
  }                                                                                                                          \
  extern "C" void ingot_k_adaptive_avg_pool_backward_##name(const Pool* p, const T* gy, T* gx, int64_t begin, int64_t end) { \
    adaptive_avg_pool_backward(*p, gy, gx, begin, end);                                                                      \
  }
INGOT_POOL(float, f32)
INGOT_POOL(double, f64)
#undef INGOT_POOL

}  // namespace ingot::kernels
