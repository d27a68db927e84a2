// What attention does to a row of scores. Everything is always_inline: the caller gives it the
// instruction set by a target attribute, and the loops over lanes become vectors.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/long_sum.hpp"
#include "kernels/gemm_tile.hpp"

namespace ingot::kernels::detail {

constexpr int64_t kRowLanes = 16;

// exp(x) for x <= 0, off by less than two units of the last place; zero where the result would be
// no normal number. -inf gives zero, NaN itself.
template <class T>
INGOT_INLINE T exp_of_negative(T x) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr int kMantissa = sizeof(T) == 4 ? 23 : 52;
  constexpr Bits kBias = sizeof(T) == 4 ? 127 : 1023;
  constexpr T kLowest = sizeof(T) == 4 ? T(-87) : T(-708);
  constexpr T kRound = T(int64_t{3} << (kMantissa - 1));  // adding it leaves the nearest whole number in the last bits
  constexpr T kInverseLog2 = T(1.4426950408889634074);
  // log 2 in two parts: whole multiples of the first are exact.
  constexpr T kHigh = sizeof(T) == 4 ? T(0.693359375) : T(0.693147180369123816490);
  constexpr T kLow = sizeof(T) == 4 ? T(-2.12194440e-4) : T(1.90821492927058770002e-10);
  // Selections of numbers that are there already: what might trap is computed in any case, so that
  // compilers make vectors of it.
  const bool is_zero = x < kLowest;
  const T in_range = is_zero ? kLowest : x;
  const T shifted = in_range * kInverseLog2 + kRound, n = shifted - kRound;
  const T r = in_range - n * kHigh - n * kLow;  // |r| <= log(2) / 2
  T p;
  if constexpr (sizeof(T) == 4) {
    p = T(1) / 5040;
    p = p * r + T(1) / 720;
  } else {
    p = T(1) / 6227020800;
    p = p * r + T(1) / 479001600;
    p = p * r + T(1) / 39916800;
    p = p * r + T(1) / 3628800;
    p = p * r + T(1) / 362880;
    p = p * r + T(1) / 40320;
    p = p * r + T(1) / 5040;
    p = p * r + T(1) / 720;
  }
  p = p * r + T(1) / 120;
  p = p * r + T(1) / 24;
  p = p * r + T(1) / 6;
  p = p * r + T(1) / 2;
  p = p * r * r + r + T(1);
  const Bits power = (std::bit_cast<Bits>(shifted) - std::bit_cast<Bits>(kRound) + kBias) << kMantissa;
  return p * std::bit_cast<T>(is_zero ? Bits{0} : power);
}

// The sum of term(i), i < n, in lanes of T that are added up in double before they are long.
template <class F>
INGOT_INLINE double sum_of_row(int64_t n, const F& term) {
  using T = decltype(term(int64_t{0}));
  constexpr int64_t kBlock = kRowLanes * kTermsOfOneSum;
  double total = 0;
  for (int64_t i0 = 0; i0 < n; i0 += kBlock) {
    const int64_t end = n - i0 < kBlock ? n : i0 + kBlock;
    T lanes[kRowLanes] = {};
    int64_t i = i0;
    for (; i + kRowLanes <= end; i += kRowLanes)
      for (int64_t l = 0; l < kRowLanes; ++l) lanes[l] += term(i + l);
    for (int64_t l = 0; i < end; ++i, ++l) lanes[l] += term(i);
    for (int64_t l = 0; l < kRowLanes; ++l) total += static_cast<double>(lanes[l]);
  }
  return total;
}

// The greatest of n elements, -inf of none; NaN are passed over.
template <class T>
INGOT_INLINE T greatest(const T* x, int64_t n) {
  T lanes[kRowLanes];
  for (int64_t l = 0; l < kRowLanes; ++l) lanes[l] = -std::numeric_limits<T>::infinity();
  int64_t i = 0;
  for (; i + kRowLanes <= n; i += kRowLanes)
    for (int64_t l = 0; l < kRowLanes; ++l) lanes[l] = x[i + l] > lanes[l] ? x[i + l] : lanes[l];
  for (int64_t l = 0; i < n; ++i, ++l) lanes[l] = x[i] > lanes[l] ? x[i] : lanes[l];
  T top = lanes[0];
  for (int64_t l = 1; l < kRowLanes; ++l) top = lanes[l] > top ? lanes[l] : top;
  return top;
}

// x[0, n) := softmax(x + mask), zeros behind it up to `all`. `mask` and `logsumexp` may be null.
template <class T>
INGOT_INLINE void softmax_row(T* x, const T* mask, int64_t mask_col, int64_t n, int64_t all, T* logsumexp) {
  if (mask && mask_col == 1) {
    for (int64_t i = 0; i < n; ++i) x[i] += mask[i];
  } else if (mask) {
    for (int64_t i = 0; i < n; ++i) x[i] += mask[i * mask_col];
  }
  const T top = greatest(x, n);
  double total = 0;
  if (top == -std::numeric_limits<T>::infinity()) {  // nothing takes part, unless it is NaN
    for (int64_t i = 0; i < n; ++i) {
      x[i] = x[i] == top ? T(0) : x[i];
      total += static_cast<double>(x[i]);
    }
    for (int64_t i = 0; i < n; ++i) x[i] = static_cast<T>(total);
  } else {
    for (int64_t i = 0; i < n; ++i) x[i] = exp_of_negative(x[i] - top);
    total = sum_of_row(n, [&](int64_t i) { return x[i]; });
    const T factor = static_cast<T>(1 / total);
    for (int64_t i = 0; i < n; ++i) x[i] *= factor;
  }
  for (int64_t i = n; i < all; ++i) x[i] = T(0);
  if (logsumexp) *logsumexp = static_cast<T>(static_cast<double>(top) + std::log(total));
}

// grad[0, n) := the gradient of the scores from that of the weights, zeros behind it up to `all`;
// `wide`, which may be `grad`, is the same before it is rounded. The mean that is taken off is of
// the weights as they are, whose sum is one but for rounding, and everything is in double: so the
// gradients of a row add up to zero.
template <class T>
INGOT_INLINE void through_softmax_row(const T* weights, T* grad, double* wide, int64_t n, int64_t all, T scale) {
  const auto weight = [&](int64_t i) { return static_cast<double>(weights[i]); };
  const double sum = sum_of_row(n, weight);
  const double product = sum_of_row(n, [&](int64_t i) { return weight(i) * static_cast<double>(grad[i]); });
  const double mean = sum > 0 ? product / sum : 0, factor = static_cast<double>(scale);
  for (int64_t i = 0; i < n; ++i) wide[i] = (static_cast<double>(grad[i]) - mean) * weight(i) * factor;
  for (int64_t i = n; i < all; ++i) wide[i] = 0;
  if constexpr (sizeof(T) < sizeof(double))
    for (int64_t i = 0; i < all; ++i) grad[i] = static_cast<T>(wide[i]);
}

}  // namespace ingot::kernels::detail
