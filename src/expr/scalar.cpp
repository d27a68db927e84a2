#include "expr/scalar.hpp"

#include <math.h>

#include <cmath>
#include <limits>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/half.hpp"

namespace ingot {
namespace {

using enum ExprOp;

// std::lgamma writes a global; this form does not.
float log_gamma(float x) {
  int sign;
  return lgammaf_r(x, &sign);
}
double log_gamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

template <class T>
std::optional<double> fold_unary(ExprOp op, T x) {
  switch (op) {
    case Neg: return -x;
    case Abs: return std::abs(x);
    case Sign: return T(x > 0) - T(x < 0);
    case Floor: return std::floor(x);
    case Ceil: return std::ceil(x);
    case Round: return std::nearbyint(x);
    case Trunc: return std::trunc(x);
    case Exp: return std::exp(x);
    case Exp2: return std::exp2(x);
    case Expm1: return std::expm1(x);
    case Log: return std::log(x);
    case Log2: return std::log2(x);
    case Log10: return std::log10(x);
    case Log1p: return std::log1p(x);
    case Sqrt: return std::sqrt(x);
    case Rsqrt: return T(1) / std::sqrt(x);
    case Sin: return std::sin(x);
    case Cos: return std::cos(x);
    case Tan: return std::tan(x);
    case Asin: return std::asin(x);
    case Acos: return std::acos(x);
    case Atan: return std::atan(x);
    case Sinh: return std::sinh(x);
    case Cosh: return std::cosh(x);
    case Tanh: return std::tanh(x);
    case Asinh: return std::asinh(x);
    case Acosh: return std::acosh(x);
    case Atanh: return std::atanh(x);
    case Erf: return std::erf(x);
    case Erfc: return std::erfc(x);
    case Lgamma: return log_gamma(x);
    default: return std::nullopt;
  }
}

template <class T>
T minimum(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  return a == b ? (std::signbit(a) ? a : b) : a < b ? a : b;
}

template <class T>
T divide(T a, T b) {
  if (b != 0) return a / b;
  if (a == 0 || std::isnan(a)) return std::numeric_limits<T>::quiet_NaN();
  return std::signbit(a) == std::signbit(b) ? std::numeric_limits<T>::infinity() : -std::numeric_limits<T>::infinity();
}

template <class T>
std::optional<double> fold_binary(ExprOp op, T a, T b) {
  switch (op) {
    case Add: return a + b;
    case Mul: return a * b;
    case FDiv: return divide(a, b);
    case Min: return minimum(a, b);
    case Max: return -minimum(-a, -b);
    case Atan2: return std::atan2(a, b);
    case Pow: return std::pow(a, b);
    case Fmod: return std::fmod(a, b);
    case Copysign: return std::copysign(a, b);
    default: return std::nullopt;
  }
}

bool less(DType t, int64_t a, int64_t b) { return t == DType::u64 ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b; }

int64_t integer_power(int64_t base, uint64_t exponent) {
  int64_t r = 1;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) r = wrapping_mul(r, base);
    base = wrapping_mul(base, base);
  }
  return r;
}

std::optional<int64_t> fold_division(ExprOp op, DType t, int64_t a, int64_t b) {
  if (b == 0) return std::nullopt;
  if (t == DType::u64) {
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<int64_t>(op == FloorDiv ? x / y : x % y);
  }
  if (b == -1) return op == FloorDiv ? wrapping_mul(a, -1) : 0;
  if (op == Fmod) return a % b;
  return op == FloorDiv ? floor_quotient(a, b) : floor_remainder(a, b);
}

}  // namespace

int64_t floor_quotient(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
int64_t floor_remainder(int64_t a, int64_t b) {
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
int64_t wrapping_add(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
int64_t wrapping_mul(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); }

int64_t wrap_to(DType t, int64_t v) {
  switch (t) {
    case DType::b8: return v != 0;
    case DType::u8: return static_cast<uint8_t>(v);
    case DType::i8: return static_cast<int8_t>(v);
    case DType::u16: return static_cast<uint16_t>(v);
    case DType::i16: return static_cast<int16_t>(v);
    case DType::u32: return static_cast<uint32_t>(v);
    case DType::i32: return static_cast<int32_t>(v);
    default: return v;
  }
}

double round_to(DType t, double v) {
  if (std::isnan(v)) return std::numeric_limits<double>::quiet_NaN();
  if (t == DType::f64) return v;
  const auto f = static_cast<float>(v);
  float r = f;
  if (t == DType::f16) r = to_float(to_half(f));
  if (t == DType::bf16) r = to_float(to_bfloat16(f));
  if (t == DType::f8e4m3fn) r = to_float(to_float8_e4m3fn(f));
  if (t == DType::f8e5m2) r = to_float(to_float8_e5m2(f));
  return std::isnan(r) ? std::numeric_limits<double>::quiet_NaN() : r;
}

std::optional<int64_t> fold_integer(ExprOp op, DType t, int64_t a, int64_t b) {
  const bool shift_fits = b >= 0 && b < 8 * size_of(t);
  std::optional<int64_t> r;
  switch (op) {
    case Add: r = wrapping_add(a, b); break;
    case Mul: r = wrapping_mul(a, b); break;
    case FloorDiv:
    case Mod:
    case Fmod: r = fold_division(op, t, a, b); break;
    case Min: r = less(t, b, a) ? b : a; break;
    case Max: r = less(t, a, b) ? b : a; break;
    case BitAnd: r = a & b; break;
    case BitOr: r = a | b; break;
    case BitXor: r = a ^ b; break;
    case Shl:
      if (shift_fits) r = static_cast<int64_t>(static_cast<uint64_t>(a) << b);
      break;
    case Shr:
      if (shift_fits) r = t == DType::u64 ? static_cast<int64_t>(static_cast<uint64_t>(a) >> b) : a >> b;
      break;
    case Pow:
      if (b >= 0) r = integer_power(a, static_cast<uint64_t>(b));
      break;
    default: break;
  }
  if (r) r = wrap_to(t, *r);
  return r;
}

std::optional<int64_t> fold_integer(ExprOp op, DType t, int64_t a) {
  const bool is_unsigned = !is_signed_integral(t);
  switch (op) {
    case Neg: return wrap_to(t, wrapping_mul(a, -1));
    case Abs: return wrap_to(t, is_unsigned || a >= 0 ? a : wrapping_mul(a, -1));
    case Sign: return is_unsigned ? a != 0 : (a > 0) - (a < 0);
    default: return std::nullopt;
  }
}

std::optional<double> fold_float(ExprOp op, DType t, double a, double b) {
  const auto r =
      t == DType::f64 ? fold_binary<double>(op, a, b) : fold_binary<float>(op, static_cast<float>(a), static_cast<float>(b));
  return r ? std::optional(round_to(t, *r)) : std::nullopt;
}

std::optional<double> fold_float(ExprOp op, DType t, double a) {
  const auto r = t == DType::f64 ? fold_unary<double>(op, a) : fold_unary<float>(op, static_cast<float>(a));
  return r ? std::optional(round_to(t, *r)) : std::nullopt;
}

bool fold_compare(ExprOp op, const Expr& a, const Expr& b) {
  const DType t = a.dtype();
  const bool is_float = is_floating(t);
  const bool below = is_float ? a->f < b->f : less(t, a->i, b->i);
  const bool equal = is_float ? a->f == b->f : a->i == b->i;
  switch (op) {
    case Lt: return below;
    case Le: return below || equal;
    case Eq: return equal;
    case Ne: return !equal;
    default: INGOT_ENSURE(false, "not a comparison: ", name_of(op)); return false;
  }
}

}  // namespace ingot
