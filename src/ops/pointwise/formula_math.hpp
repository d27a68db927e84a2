// Functions of element formulas that are more than one operation. Each is written once for numbers
// and expressions; where an expression's own type decides (integers divide otherwise than floats),
// the expression is asked.
#pragma once
#include "base/dtype.hpp"
#include "base/half.hpp"
#include "ingot/expr.hpp"
#include "op/promotion.hpp"
#include "ops/pointwise/pointwise.hpp"
#include "ops/pointwise/scalar_math.hpp"

namespace ingot {

// Whether T computes integers: known from the type, but for an expression only from the value.
template <class T>
bool is_integer_value(const T& x) {
  if constexpr (std::same_as<T, Expr>) return !is_floating(x.dtype());
  else return std::integral<T>;
}

// The constant v of x's type. A literal takes the type of what it meets; two that meet each other
// first need this.
template <class T>
T constant_like(const T& x, double v) {
  if constexpr (std::same_as<T, Expr>) return Expr::constant(x.dtype(), v);
  else return static_cast<T>(v);
}

// x as a half type holds it: PyTorch's formulas of half types round some steps on the way. Any
// other `Small`, and what is not computed in float: x.
template <DType Small, class T>
T as_small(const T& x) {
  if constexpr (Small != DType::bf16 && Small != DType::f16) return x;
  else if constexpr (std::same_as<T, Expr>) return cast(DType::f32, cast(Small, x));
  else if constexpr (std::same_as<T, float>) return Small == DType::bf16 ? to_float(to_bfloat16(x)) : to_float(to_half(x));
  else return x;
}
// The formula F<dtype of the result> of N operands, for as_small.
template <template <DType> class F, int N, Traits Tr>
const Formula* formula_by_size(const Call& c) {
  switch (result_type(c.args.first(N))) {
    case DType::bf16: return &formula_of<F<DType::bf16>, N, Tr>;
    case DType::f16: return &formula_of<F<DType::f16>, N, Tr>;
    default: return &formula_of<F<DType::f32>, N, Tr>;
  }
}

// NaN wins; of two bools `or` and `and`.
template <Real T>
T larger(T a, T b) {
  if constexpr (std::same_as<T, Expr>)
    if (a.dtype() == DType::b8) return a | b;
  return max(a, b);
}
template <Real T>
T smaller(T a, T b) {
  if constexpr (std::same_as<T, Expr>)
    if (a.dtype() == DType::b8) return a & b;
  return min(a, b);
}

// a / b rounded down. Integers: b is not 0.
template <Real T>
T floored_quotient(T a, T b) {
  if constexpr (std::same_as<T, int64_t>) {
    if (b == 0 || b == -1) return b == 0 ? 0 : static_cast<int64_t>(-static_cast<uint64_t>(a));
    const int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
  } else {
    if constexpr (std::same_as<T, Expr>)
      if (is_integer_value(a)) return floor_div(a, b);
    // As Python does: exact where the true quotient is near an integer.
    const T mod = fmod(a, b), exact = (a - mod) / b;
    const T div = where(mod != T(0) && (b < T(0)) != (mod < T(0)), exact - T(1), exact);
    const T floored = floor(div);
    const T nearest = where(div - floored > T(0.5), floored + T(1), floored);
    return where(b == T(0), a / b, where(div != T(0), nearest, copysign(T(0), a / b)));
  }
}

// a / b rounded towards zero.
template <Real T>
T truncated_quotient(T a, T b) {
  if constexpr (std::same_as<T, int64_t>) {
    if (b == 0 || b == -1) return b == 0 ? 0 : static_cast<int64_t>(-static_cast<uint64_t>(a));
    return a / b;
  } else {
    if constexpr (std::same_as<T, Expr>)
      if (is_integer_value(a)) {
        const T q = floor_div(a, b);
        return where(q * b != a && q < T(0), q + T(1), q);
      }
    return trunc(a / b);
  }
}

// a - b * floor(a / b): has the sign of b.
template <Real T>
T floored_remainder(T a, T b) {
  if constexpr (std::same_as<T, int64_t>) {
    if (b == 0 || b == -1) return 0;
    const int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  } else {
    if constexpr (std::same_as<T, Expr>)
      if (is_integer_value(a)) return mod(a, b);
    const T r = fmod(a, b);
    return where(r != T(0) && (b < T(0)) != (r < T(0)), r + b, r);
  }
}

// Has the sign of a.
template <Real T>
T truncated_remainder(T a, T b) {
  if constexpr (std::same_as<T, int64_t>) return b == 0 || b == -1 ? 0 : a % b;
  else return fmod(a, b);
}

// Integers: 1/a^-b rounded towards zero for a negative exponent. Small exponents cost no call of
// pow where the exponent is one number, as PyTorch has it: the square root of -inf is none, and
// pow(-inf, 0.5) is inf.
template <bool OneExponent = true, class T>
T power(T a, T b) {
  if constexpr (std::same_as<T, int64_t>) {
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    uint64_t r = 1, base = static_cast<uint64_t>(a);
    for (; b != 0; b >>= 1, base *= base)
      if (b & 1) r *= base;
    return static_cast<int64_t>(r);
  } else if constexpr (!OneExponent) {
    return pow(a, b);
  } else if constexpr (std::same_as<T, Expr>) {
    if (b.is_const(2)) return a * a;
    if (b.is_const(3)) return a * a * a;
    if (b.is_const(1)) return a;
    if (is_floating(a.dtype()) && b.is_const(-1)) return T(1) / a;
    if (is_floating(a.dtype()) && b.is_const() && is_floating(b.dtype()) && b->f == 0.5) return sqrt(a);
    return pow(a, b);
  } else {
    if (b == T(2)) return a * a;
    if (b == T(3)) return a * a * a;
    if (b == T(0.5)) return sqrt(a);
    return pow(a, b);
  }
}

}  // namespace ingot
