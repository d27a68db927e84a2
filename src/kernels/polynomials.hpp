// Orthogonal polynomials of degree n (truncated to an integer; negative gives 0) by their
// three-term recurrences, in the precision of the argument: near a root the digits that
// cancellation leaves are those of PyTorch's float recurrence only if this is the same recurrence,
// with its fused multiplications and its change to trigonometric functions.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>

namespace ingot::kernels {

namespace detail {

// Infinite and NaN degrees count as negative.
template <class T>
int64_t degree(T n) {
  return n > T(-1) && n < T(0x1p62) ? static_cast<int64_t>(n) : -1;
}

// p_0 = 1, p_1 = first, p_{k+1} = step(k, p_k, p_{k-1})
template <class T, class Step>
T recurrence(int64_t n, T first, const Step& step) {
  if (n == 0) return T(1);
  T before = T(1), p = first;
  for (int64_t k = 1; k < n && !std::isnan(p); k++) {
    const T next = step(static_cast<T>(k), p, before);
    before = p;
    p = next;
  }
  return p;
}

// The four kinds of Chebyshev polynomials share a recurrence; they differ in p_1, in their values
// at -1 and 1, and in the trigonometric form that high degrees take inside the interval.
enum class Kind : uint8_t { t, u, v, w };

template <class T>
T chebyshev_at_end(Kind kind, bool right, int64_t n) {
  const T sign = right || n % 2 == 0 ? T(1) : T(-1);
  switch (kind) {
    case Kind::t: return sign;
    case Kind::u: return sign * static_cast<T>(n + 1);
    case Kind::v: return right ? T(1) : sign * static_cast<T>(n + n + 1);
    case Kind::w: return right ? static_cast<T>(n + n + 1) : sign;
  }
  return sign;
}
template <class T>
T chebyshev_inside(Kind kind, T x, int64_t n) {
  const T angle = std::acos(x);
  switch (kind) {
    case Kind::t: return std::cos(static_cast<T>(n) * angle);
    case Kind::u: {
      const T s = std::sin(angle), a = static_cast<T>(n + 1) * angle;
      return s != T(0) ? std::sin(a) / s : static_cast<T>(n + 1) * std::cos(a) / x;
    }
    case Kind::v:
      if (std::sin(angle / T(2)) == T(1)) return chebyshev_at_end<T>(kind, false, n);
      return std::cos((static_cast<T>(n) + T(0.5)) * angle) / std::cos(angle / T(2));
    case Kind::w:
      if (std::cos(angle / T(2)) == T(1)) return chebyshev_at_end<T>(kind, x > T(0), n);
      return std::sin((static_cast<T>(n) + T(0.5)) * angle) / std::sin(angle / T(2));
  }
  return angle;
}
template <class T>
T chebyshev(Kind kind, T x, int64_t n, bool left_end, bool right_end, int64_t last_recurrence) {
  if (n < 0) return T(0);
  if (left_end || right_end) return chebyshev_at_end<T>(kind, right_end, n);
  if (n > last_recurrence && std::abs(x) < T(1)) return chebyshev_inside(kind, x, n);
  const T twice = x + x, first = kind == Kind::t ? x : kind == Kind::u ? twice : kind == Kind::v ? twice - T(1) : twice + T(1);
  return recurrence(n, first, [twice](T, T p, T before) { return std::fma(twice, p, -before); });
}

// Beyond this degree PyTorch gives NaN.
template <class T>
inline constexpr int64_t kHermiteLimit = sizeof(T) == 4 ? 128 : 512;

}  // namespace detail

template <class T>
T chebyshev_t(T x, T n) {
  return detail::chebyshev(detail::Kind::t, x, detail::degree(n), x == T(-1), x == T(1), 6);
}
template <class T>
T chebyshev_u(T x, T n) {
  return detail::chebyshev(detail::Kind::u, x, detail::degree(n), x == T(-1), x == T(1), 8);
}
template <class T>
T chebyshev_v(T x, T n) {
  return detail::chebyshev(detail::Kind::v, x, detail::degree(n), x == T(-1), x == T(1), 8);
}
template <class T>
T chebyshev_w(T x, T n) {
  return detail::chebyshev(detail::Kind::w, x, detail::degree(n), x == T(-1), x == T(1), 8);
}

// The same on [0, 1].
template <class T>
T shifted_chebyshev_t(T x, T n) {
  return detail::chebyshev(detail::Kind::t, x + x - T(1), detail::degree(n), x == T(0), x == T(1), 6);
}
template <class T>
T shifted_chebyshev_u(T x, T n) {
  return detail::chebyshev(detail::Kind::u, x + x - T(1), detail::degree(n), x == T(0), x == T(1), 6);
}
template <class T>
T shifted_chebyshev_v(T x, T n) {
  return detail::chebyshev(detail::Kind::v, x + x - T(1), detail::degree(n), x == T(0), x == T(1), 6);
}
template <class T>
T shifted_chebyshev_w(T x, T n) {
  return detail::chebyshev(detail::Kind::w, x + x - T(1), detail::degree(n), x == T(0), x == T(1), 4);
}

template <class T>
T hermite_h(T x, T n) {
  const int64_t k = detail::degree(n);
  if (k < 0) return T(0);
  if (k > detail::kHermiteLimit<T>) return std::numeric_limits<T>::quiet_NaN();
  const T twice = x + x;
  return detail::recurrence(k, twice, [twice](T i, T p, T before) { return std::fma(twice, p, -((i + i) * before)); });
}
template <class T>
T hermite_he(T x, T n) {
  const int64_t k = detail::degree(n);
  if (k < 0) return T(0);
  if (k > detail::kHermiteLimit<T>) return std::numeric_limits<T>::quiet_NaN();
  return detail::recurrence(k, x, [x](T i, T p, T before) { return std::fma(x, p, -(i * before)); });
}
template <class T>
T laguerre_l(T x, T n) {
  const int64_t k = detail::degree(n);
  if (k < 0) return T(0);
  if (x == T(0)) return T(1);
  const T first = T(1) - x;
  return detail::recurrence(k, first,
                            [first](T i, T p, T before) { return std::fma(i + i + first, p, -(i * before)) / (i + T(1)); });
}
template <class T>
T legendre_p(T x, T n) {
  const int64_t k = detail::degree(n);
  if (k < 0) return T(0);
  if (std::abs(x) == T(1)) return x > T(0) || k % 2 == 0 ? T(1) : T(-1);
  return detail::recurrence(k, x,
                            [x](T i, T p, T before) { return std::fma((i + i + T(1)) * x, p, -(i * before)) / (i + T(1)); });
}

}  // namespace ingot::kernels
