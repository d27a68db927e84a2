// Formulas that an activation and its backward op share.
#pragma once
#include "base/error.hpp"
#include "ingot/value.hpp"
#include "ops/pointwise/formula_math.hpp"

namespace ingot {

template <Inexact T>
T logistic(T x) {
  return T(1) / (T(1) + exp(-x));
}
// log(1 + exp(x)) without overflow.
template <Floating T>
T log1p_exp(T x) {
  return max(x, T(0)) + log1p(exp(-abs(x)));
}

inline constexpr double kGeluCubic = 0.044715, kSqrt2OverPi = M_SQRT2 * M_2_SQRTPI * 0.5;
inline bool is_tanh_gelu(const Value& approximate) {
  const std::string& a = approximate.string();
  INGOT_REQUIRE(a == "none" || a == "tanh", "approximate argument must be either none or tanh, found '", a, "'");
  return a == "tanh";
}
struct Gelu {
  template <Floating T> T operator()(T x) const { return x * T(0.5) * (T(1) + erf(x * T(M_SQRT1_2))); }
};
struct TanhGelu {
  template <Floating T>
  T operator()(T x) const {
    return T(0.5) * x * (T(1) + tanh(T(kSqrt2OverPi) * (x + T(kGeluCubic) * x * x * x)));
  }
};
struct GeluBackward {
  template <Floating T>
  T operator()(T g, T x) const {
    const T cdf = T(0.5) * (T(1) + erf(x * T(M_SQRT1_2)));
    const T pdf = exp(x * x * T(-0.5)) * T(M_2_SQRTPI * M_SQRT1_2 * 0.5);
    return g * (cdf + x * pdf);
  }
};
struct TanhGeluBackward {
  template <Floating T>
  T operator()(T g, T x) const {
    const T t = tanh(T(kSqrt2OverPi) * (x + T(kGeluCubic) * x * x * x));
    const T slope = T(kSqrt2OverPi) * (T(1) + T(3 * kGeluCubic) * x * x);
    return g * (T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * slope);
  }
};

}  // namespace ingot
