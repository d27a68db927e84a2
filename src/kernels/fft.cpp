// Mixed radix after Stockham: every stage reads one buffer and writes the other in order, no bit
// reversal. The inverse is the forward transform with real and imaginary parts exchanged on both
// sides. See fft.hpp for the contract.
#include "kernels/fft.hpp"

#include <cmath>
#include <initializer_list>

namespace ingot::kernels {
namespace {

constexpr int kMaxRadix = 13;

// Plan memory: this header, then `length` twiddles exp(-2 pi i k / length), then for Bluestein n
// chirps exp(-pi i k^2 / n) and the transform of the filter, `length` long.
struct alignas(16) Header {
  int64_t n, length;  // length == n, or the power of two Bluestein works in
  int64_t count;
  uint8_t factor[64];
};

template <class T>
struct Complex {
  T re, im;
};
template <class T>
inline Complex<T> operator+(Complex<T> a, Complex<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
inline Complex<T> operator-(Complex<T> a, Complex<T> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class T>
inline Complex<T> operator*(Complex<T> a, Complex<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class T>
inline Complex<T> operator*(T s, Complex<T> a) {
  return {s * a.re, s * a.im};
}
template <class T>
inline Complex<T> swapped(Complex<T> a) {
  return {a.im, a.re};
}
template <class T>
inline Complex<T> minus_i(Complex<T> a) {
  return {a.im, -a.re};
}  // -i a

// Factors of n, fours first; false when a prime is too large.
bool factorize(int64_t n, Header& h) {
  h.count = 0;
  for (const int p : {4, 2, 3, 5, 7, 11, kMaxRadix})
    for (; n % p == 0; n /= p) h.factor[h.count++] = static_cast<uint8_t>(p);
  return n == 1;
}

Header describe(int64_t n) {
  Header h{n, n, 0, {}};
  if (!factorize(n, h)) {
    h.length = 1;
    while (h.length < 2 * n - 1) h.length *= 2;
    factorize(h.length, h);
  }
  return h;
}

// exp(-2 pi i k / n), 0 <= k < n; the angle is brought below pi / 4 in integers first, so it has
// full precision.
template <class T>
Complex<T> root(int64_t k, int64_t n) {
  int64_t turn = 2 * k;  // the angle is pi turn / n
  const bool below = turn > n;
  if (below) turn = 2 * n - turn;
  const bool left = 2 * turn > n;
  if (left) turn = n - turn;
  constexpr double pi = 3.14159265358979323846;
  double c, s;
  if (4 * turn > n) {
    const double angle = pi * static_cast<double>(n - 2 * turn) / static_cast<double>(2 * n);
    c = std::sin(angle);
    s = std::cos(angle);
  } else {
    const double angle = pi * static_cast<double>(turn) / static_cast<double>(n);
    c = std::cos(angle);
    s = std::sin(angle);
  }
  return {static_cast<T>(left ? -c : c), static_cast<T>(below ? s : -s)};
}

template <class T>
Complex<T>* twiddles_of(void* plan) {
  return reinterpret_cast<Complex<T>*>(static_cast<char*>(plan) + sizeof(Header));
}
template <class T>
const Complex<T>* twiddles_of(const void* plan) {
  return reinterpret_cast<const Complex<T>*>(static_cast<const char*>(plan) + sizeof(Header));
}

// ---- butterflies: a[k] -> b[j] = sum over k of a[k] exp(-2 pi i j k / R) ----

template <int R, class T>
inline void butterfly(const Complex<T>* a, Complex<T>* b, const Complex<T>* roots) {
  if constexpr (R == 2) {
    b[0] = a[0] + a[1];
    b[1] = a[0] - a[1];
  } else if constexpr (R == 4) {
    const Complex<T> s = a[0] + a[2], d = a[0] - a[2], t = a[1] + a[3], e = minus_i(a[1] - a[3]);
    b[0] = s + t;
    b[1] = d + e;
    b[2] = s - t;
    b[3] = d - e;
  } else {  // odd: pairs k and R - k share their products
    Complex<T> sum[R / 2 + 1], difference[R / 2 + 1];
    b[0] = a[0];
    for (int k = 1; k <= R / 2; ++k) {
      sum[k] = a[k] + a[R - k];
      difference[k] = minus_i(a[k] - a[R - k]);
      b[0] = b[0] + sum[k];
    }
    for (int j = 1; j <= R / 2; ++j) {
      Complex<T> even = a[0], odd{};
      for (int k = 1; k <= R / 2; ++k) {
        const Complex<T> w = roots[j * k % R];
        even = even + w.re * sum[k];
        odd = odd + -w.im * difference[k];
      }
      b[j] = even + odd;
      b[R - j] = even - odd;
    }
  }
}

// One stage: sequences of length n at stride s, x to y. n * s is the whole length, whose twiddles
// are given.
template <int R, class T>
void stage(int64_t n, int64_t s, const Complex<T>* twiddles, const Complex<T>* x, Complex<T>* y) {
  const int64_t m = n / R;
  Complex<T> roots[R];
  for (int k = 0; k < R; ++k) roots[k] = twiddles[k * m * s];
  for (int64_t p = 0; p < m; ++p) {
    Complex<T> w[R];
    for (int j = 0; j < R; ++j) w[j] = twiddles[p * j * s];
    for (int64_t q = 0; q < s; ++q) {
      Complex<T> a[R], b[R];
      for (int k = 0; k < R; ++k) a[k] = x[q + s * (p + m * k)];
      butterfly<R>(a, b, roots);
      y[q + s * R * p] = b[0];
      for (int j = 1; j < R; ++j) y[q + s * (R * p + j)] = w[j] * b[j];
    }
  }
}

// Transforms a, with b as the second buffer; returns the one that holds the result.
template <class T>
Complex<T>* transform(const Header& h, const Complex<T>* twiddles, Complex<T>* a, Complex<T>* b) {
  int64_t n = h.length, s = 1;
  for (int64_t f = 0; f < h.count; ++f) {
    const int r = h.factor[f];
    switch (r) {
      case 2: stage<2>(n, s, twiddles, a, b); break;
      case 3: stage<3>(n, s, twiddles, a, b); break;
      case 4: stage<4>(n, s, twiddles, a, b); break;
      case 5: stage<5>(n, s, twiddles, a, b); break;
      case 7: stage<7>(n, s, twiddles, a, b); break;
      case 11: stage<11>(n, s, twiddles, a, b); break;
      default: stage<13>(n, s, twiddles, a, b);
    }
    n /= r;
    s *= r;
    Complex<T>* t = a;
    a = b;
    b = t;
  }
  return a;
}

// One row: element k of the input is load(k), k < n; the result goes to store(j, value).
template <class T, class Load, class Store>
void transform_row(const void* plan, Complex<T>* scratch, Load load, Store store) {
  const Header& h = *static_cast<const Header*>(plan);
  const Complex<T>* const twiddles = twiddles_of<T>(plan);
  Complex<T>*a = scratch, *b = scratch + h.length;
  if (h.length == h.n) {
    for (int64_t k = 0; k < h.n; ++k) a[k] = load(k);
    const Complex<T>* const r = transform(h, twiddles, a, b);
    for (int64_t j = 0; j < h.n; ++j) store(j, r[j]);
    return;
  }
  const Complex<T>* const chirp = twiddles + h.length;
  const Complex<T>* const filter = chirp + h.n;
  for (int64_t k = 0; k < h.n; ++k) a[k] = chirp[k] * load(k);
  for (int64_t k = h.n; k < h.length; ++k) a[k] = {T(0), T(0)};
  Complex<T>* const r = transform(h, twiddles, a, b);
  Complex<T>* const other = r == a ? b : a;
  for (int64_t k = 0; k < h.length; ++k) r[k] = swapped(r[k] * filter[k]);
  const Complex<T>* const c = transform(h, twiddles, r, other);
  for (int64_t j = 0; j < h.n; ++j) store(j, chirp[j] * swapped(c[j]));
}

}  // namespace

template <class T>
int64_t fft_plan_bytes(int64_t n) {
  const Header h = describe(n);
  const int64_t entries = h.length + (h.length == n ? 0 : n + h.length);
  return static_cast<int64_t>(sizeof(Header)) + entries * static_cast<int64_t>(sizeof(Complex<T>)) +
         (h.length == n ? 0 : fft_scratch_bytes<T>(n));  // to transform the filter
}

template <class T>
int64_t fft_scratch_bytes(int64_t n) {
  return 2 * describe(n).length * static_cast<int64_t>(sizeof(Complex<T>));
}

template <class T>
void fft_make_plan(int64_t n, void* plan) {
  Header& h = *static_cast<Header*>(plan);
  h = describe(n);
  Complex<T>* const twiddles = twiddles_of<T>(plan);
  for (int64_t k = 0; k < h.length; ++k) twiddles[k] = root<T>(k, h.length);
  if (h.length == n) return;
  Complex<T>* const chirp = twiddles + h.length;
  Complex<T>* const filter = chirp + n;
  Complex<T>* const work = filter + h.length;
  for (int64_t k = 0, square = 0; k < n; square = (square + 2 * k + 1) % (2 * n), ++k) chirp[k] = root<T>(square, 2 * n);
  for (int64_t k = 0; k < h.length; ++k) work[k] = {T(0), T(0)};
  const T scale = T(1) / static_cast<T>(h.length);
  for (int64_t k = 0; k < n; ++k) {
    work[k] = {scale * chirp[k].re, -scale * chirp[k].im};
    if (k > 0) work[h.length - k] = work[k];
  }
  const Complex<T>* const r = transform(h, twiddles, work, work + h.length);
  for (int64_t k = 0; k < h.length; ++k) filter[k] = r[k];
}

template <class T>
void fft_rows(const void* plan, int64_t, bool inverse, T scale, const std::complex<T>* in, Rows in_rows, std::complex<T>* out,
              Rows out_rows, int64_t begin, int64_t end, void* scratch) {
  for (int64_t row = begin; row < end; ++row) {
    const std::complex<T>* const from = in + in_rows.start(row);
    std::complex<T>* const to = out + out_rows.start(row);
    const auto load = [&](int64_t k) {
      const Complex<T> v{from[k * in_rows.stride].real(), from[k * in_rows.stride].imag()};
      return inverse ? swapped(v) : v;
    };
    const auto store = [&](int64_t j, Complex<T> v) {
      if (inverse) v = swapped(v);
      to[j * out_rows.stride] = {scale * v.re, scale * v.im};
    };
    transform_row(plan, static_cast<Complex<T>*>(scratch), load, store);
  }
}

template <class T>
void fft_real_rows(const void* plan, int64_t n, T scale, const T* in, Rows in_rows, std::complex<T>* out, Rows out_rows,
                   int64_t begin, int64_t end, void* scratch) {
  for (int64_t row = begin; row < end; ++row) {
    const T* const from = in + in_rows.start(row);
    std::complex<T>* const to = out + out_rows.start(row);
    transform_row(
        plan, static_cast<Complex<T>*>(scratch), [&](int64_t k) { return Complex<T>{from[k * in_rows.stride], T(0)}; },
        [&](int64_t j, Complex<T> v) {
          if (j <= n / 2) to[j * out_rows.stride] = {scale * v.re, scale * v.im};
        });
  }
}

template <class T>
void fft_hermitian_rows(const void* plan, int64_t n, T scale, const std::complex<T>* in, Rows in_rows, T* out, Rows out_rows,
                        int64_t begin, int64_t end, void* scratch) {
  for (int64_t row = begin; row < end; ++row) {
    const std::complex<T>* const from = in + in_rows.start(row);
    T* const to = out + out_rows.start(row);
    const auto load = [&](int64_t k) {  // real and imaginary parts exchanged: the inverse
      const std::complex<T> v = from[(2 * k <= n ? k : n - k) * in_rows.stride];
      const T im = k == 0 || 2 * k == n ? T(0) : 2 * k < n ? v.imag() : -v.imag();
      return Complex<T>{im, v.real()};
    };
    transform_row(plan, static_cast<Complex<T>*>(scratch), load,
                  [&](int64_t j, Complex<T> v) { to[j * out_rows.stride] = scale * v.im; });
  }
}

#define INGOT_FFT(T, name)                                                                                                       \
  template int64_t fft_plan_bytes<T>(int64_t);                                                                                   \
  template int64_t fft_scratch_bytes<T>(int64_t);                                                                                \
  template void fft_make_plan<T>(int64_t, void*);                                                                                \
  template void fft_rows<T>(const void*, int64_t, bool, T, const std::complex<T>*, Rows, std::complex<T>*, Rows, int64_t,        \
                            int64_t, void*);                                                                                     \
  template void fft_real_rows<T>(const void*, int64_t, T, const T*, Rows, std::complex<T>*, Rows, int64_t, int64_t, void*);      \
  template void fft_hermitian_rows<T>(const void*, int64_t, T, const std::complex<T>*, Rows, T*, Rows, int64_t, int64_t, void*); \
  extern "C" int64_t ingot_k_fft_plan_bytes_##name(int64_t n) { return fft_plan_bytes<T>(n); }                                   \
  extern "C" void ingot_k_fft_make_plan_##name(int64_t n, void* plan) { fft_make_plan<T>(n, plan); }                             \
  extern "C" int64_t ingot_k_fft_scratch_bytes_##name(int64_t n) { return fft_scratch_bytes<T>(n); }                             \
  extern "C" void ingot_k_fft_rows_##name(const void* plan, int64_t n, int32_t inverse, T scale, const std::complex<T>* in,      \
                                          const Rows* in_rows, std::complex<T>* out, const Rows* out_rows, int64_t begin,        \
                                          int64_t end, void* scratch) {                                                          \
    fft_rows(plan, n, inverse != 0, scale, in, *in_rows, out, *out_rows, begin, end, scratch);                                   \
  }                                                                                                                              \
  extern "C" void ingot_k_fft_real_rows_##name(const void* plan, int64_t n, T scale, const T* in, const Rows* in_rows,           \
                                               std::complex<T>* out, const Rows* out_rows, int64_t begin, int64_t end,           \
                                               void* scratch) {                                                                  \
    fft_real_rows(plan, n, scale, in, *in_rows, out, *out_rows, begin, end, scratch);                                            \
  }                                                                                                                              \
  extern "C" void ingot_k_fft_hermitian_rows_##name(const void* plan, int64_t n, T scale, const std::complex<T>* in,             \
                                                    const Rows* in_rows, T* out, const Rows* out_rows, int64_t begin,            \
                                                    int64_t end, void* scratch) {                                                \
    fft_hermitian_rows(plan, n, scale, in, *in_rows, out, *out_rows, begin, end, scratch);                                       \
  }
INGOT_FFT(float, f32)
INGOT_FFT(double, f64)
#undef INGOT_FFT

}  // namespace ingot::kernels
