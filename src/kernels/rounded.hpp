// A float whose every result is rounded to a smaller type: what kernels compute in where PyTorch's
// keep bfloat16 and half values in their own type from one operation to the next, instead of
// rounding once at the end.
#pragma once
#include <cmath>
#include <cstdint>

#include "base/half.hpp"

namespace ingot::kernels {

inline float round_to(BFloat16, float v) { return to_float(to_bfloat16(v)); }
inline float round_to(Half, float v) { return to_float(to_half(v)); }

template <class Small>
struct Rounded {
  float value = 0;

  Rounded() = default;
  explicit Rounded(float v) : value(round_to(Small{}, v)) {}
  explicit Rounded(double v) : Rounded(static_cast<float>(v)) {}
  explicit Rounded(int v) : Rounded(static_cast<float>(v)) {}
  explicit Rounded(int64_t v) : Rounded(static_cast<float>(v)) {}
  explicit operator float() const { return value; }
  explicit operator int64_t() const { return static_cast<int64_t>(value); }

  friend Rounded operator+(Rounded a, Rounded b) { return Rounded(a.value + b.value); }
  friend Rounded operator-(Rounded a, Rounded b) { return Rounded(a.value - b.value); }
  friend Rounded operator*(Rounded a, Rounded b) { return Rounded(a.value * b.value); }
  friend Rounded operator/(Rounded a, Rounded b) { return Rounded(a.value / b.value); }
  friend Rounded operator-(Rounded a) { return Rounded(-a.value); }
  Rounded& operator+=(Rounded b) { return *this = *this + b; }
  friend bool operator==(Rounded a, Rounded b) { return a.value == b.value; }
  friend bool operator<(Rounded a, Rounded b) { return a.value < b.value; }
  friend bool operator>(Rounded a, Rounded b) { return a.value > b.value; }
  friend bool operator>=(Rounded a, Rounded b) { return a.value >= b.value; }
};

// The functions of <cmath> that kernels use, of either kind of number.
#define INGOT_ROUNDED_FUNCTION(name)                    \
  inline float name(float x) { return std::name(x); }   \
  inline double name(double x) { return std::name(x); } \
  template <class Small>                                \
  Rounded<Small> name(Rounded<Small> x) {               \
    return Rounded<Small>(std::name(x.value));          \
  }
INGOT_ROUNDED_FUNCTION(fabs)
INGOT_ROUNDED_FUNCTION(floor)
INGOT_ROUNDED_FUNCTION(trunc)
INGOT_ROUNDED_FUNCTION(nearbyint)
#undef INGOT_ROUNDED_FUNCTION
inline float fmod(float x, float y) { return std::fmod(x, y); }
inline double fmod(double x, double y) { return std::fmod(x, y); }
template <class Small>
Rounded<Small> fmod(Rounded<Small> x, Rounded<Small> y) {
  return Rounded<Small>(std::fmod(x.value, y.value));
}

}  // namespace ingot::kernels
