// The scalar functions formulas are written in, for numbers. Expr has the same names
// (ingot/expr.hpp), so one generic lambda serves both.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <concepts>
#include <cstdint>

namespace ingot {

using std::abs, std::acos, std::acosh, std::asin, std::asinh, std::atan, std::atan2, std::atanh, std::ceil, std::copysign,
    std::cos, std::cosh, std::erf, std::erfc, std::exp, std::exp2, std::expm1, std::floor, std::fmod, std::isinf, std::isnan,
    std::lgamma, std::log, std::log10, std::log1p, std::log2, std::pow, std::sin, std::sinh, std::sqrt, std::tan, std::tanh,
    std::trunc;

template <class T>
concept ScalarNumber = std::integral<T> || std::floating_point<T> || std::same_as<T, std::complex<double>>;

template <ScalarNumber T>
T where(bool c, T a, T b) {
  return c ? a : b;
}
template <ScalarNumber T>
T select(bool c, T a, T b) {
  return c ? a : b;
}
template <ScalarNumber T>
T rsqrt(T x) {
  return T(1) / std::sqrt(x);
}
template <std::floating_point T>
T round(T x) {
  return std::nearbyint(x);
}  // half to even
// NaN wins, as in ATen.
template <std::floating_point T>
T max(T a, T b) {
  return a != a || a > b ? a : b;
}
template <std::floating_point T>
T min(T a, T b) {
  return a != a || a < b ? a : b;
}
template <std::integral T>
T max(T a, T b) {
  return a > b ? a : b;
}
template <std::integral T>
T min(T a, T b) {
  return a < b ? a : b;
}
template <std::floating_point T>
T sign(T x) {
  return T(x > T(0)) - T(x < T(0));
}
template <std::integral T>
T sign(T x) {
  return T((x > T(0)) - (x < T(0)));
}
inline bool logical_and(bool a, bool b) { return a && b; }
inline bool logical_or(bool a, bool b) { return a || b; }
inline bool logical_not(bool a) { return !a; }

}  // namespace ingot
