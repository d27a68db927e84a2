// Storage-only float types: conversions to and from float, round to nearest even. Arithmetic is
// done in float.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace ingot {

// clang-format off
struct BFloat16 { uint16_t bits; };
struct Half { uint16_t bits; };
struct Float8E4M3FN { uint8_t bits; };
struct Float8E5M2 { uint8_t bits; };
// clang-format on

inline float to_float(BFloat16 v) { return std::bit_cast<float>(static_cast<uint32_t>(v.bits) << 16); }
inline BFloat16 to_bfloat16(float f) {
  uint32_t u = std::bit_cast<uint32_t>(f);
  if ((u & 0x7fffffffu) > 0x7f800000u) return {static_cast<uint16_t>((u >> 16) | 0x40)};  // NaN stays NaN
  return {static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1)) >> 16)};
}

// A small float with `E` exponent and `M` mantissa bits as a float. `finite_only`: no infinities,
// all ones is NaN (e4m3fn).
template <int E, int M, bool FiniteOnly>
float small_to_float(uint32_t bits) {
  constexpr uint32_t kExpMask = (1u << E) - 1, kManMask = (1u << M) - 1;
  constexpr int kBias = (1 << (E - 1)) - 1;
  const uint32_t sign = (bits >> (E + M)) & 1, exp = (bits >> M) & kExpMask, man = bits & kManMask;
  float v;
  if (exp == 0) v = std::ldexp(static_cast<float>(man), 1 - kBias - M);
  else if (FiniteOnly && exp == kExpMask && man == kManMask) v = NAN;
  else if (!FiniteOnly && exp == kExpMask) v = man ? NAN : INFINITY;
  else v = std::bit_cast<float>(((exp + 127u - kBias) << 23) | (man << (23 - M)));
  return sign ? -v : v;
}
template <int E, int M, bool FiniteOnly>
uint32_t float_to_small(float f) {
  constexpr uint32_t kExpMask = (1u << E) - 1, kManMask = (1u << M) - 1;
  constexpr int kBias = (1 << (E - 1)) - 1;
  const uint32_t u = std::bit_cast<uint32_t>(f), sign = (u >> 31) << (E + M), a = u & 0x7fffffffu;
  constexpr uint32_t kNan = FiniteOnly ? (kExpMask << M) | kManMask : (kExpMask << M) | (1u << (M - 1));
  constexpr uint32_t kOverflow = FiniteOnly ? kNan : (kExpMask << M);
  if (a > 0x7f800000u) return sign | kNan;
  if (a == 0x7f800000u) return sign | kOverflow;
  const int exp = static_cast<int>(a >> 23) - 127 + kBias;  // biased exponent in the small type
  const uint32_t man = (a & 0x7fffffu) | (a >> 23 ? 0x800000u : 0u);
  int shift = 23 - M + (exp < 1 ? 1 - exp : 0);
  if (shift > 25) return sign;
  uint32_t q = man >> shift;
  const uint32_t rest = man & ((1u << shift) - 1), half = 1u << (shift - 1);
  if (rest > half || (rest == half && (q & 1))) q++;
  // q carries the hidden bit for normal numbers; a carry out of the mantissa moves into the
  // exponent by itself.
  uint32_t r = exp < 1 ? q : q + (static_cast<uint32_t>(exp - 1) << M);
  constexpr uint32_t kMax = FiniteOnly ? (kExpMask << M) | (kManMask - 1) : (kExpMask << M) - 1;
  if (r > kMax) r = kOverflow;
  return sign | r;
}
#if defined(__aarch64__)  // where g++ 12 has no _Float16 for C++
inline float to_float(Half v) { return __builtin_bit_cast(__fp16, v.bits); }
inline Half to_half(float f) { return {__builtin_bit_cast(uint16_t, static_cast<__fp16>(f))}; }
#elif defined(__F16C__)
inline float to_float(Half v) { return std::bit_cast<_Float16>(v.bits); }
inline Half to_half(float f) { return {std::bit_cast<uint16_t>(static_cast<_Float16>(f))}; }
#else
inline float to_float(Half v) { return small_to_float<5, 10, false>(v.bits); }
inline Half to_half(float f) { return {static_cast<uint16_t>(float_to_small<5, 10, false>(f))}; }
#endif
inline float to_float(Float8E4M3FN v) { return small_to_float<4, 3, true>(v.bits); }
inline float to_float(Float8E5M2 v) { return small_to_float<5, 2, false>(v.bits); }
inline Float8E4M3FN to_float8_e4m3fn(float f) { return {static_cast<uint8_t>(float_to_small<4, 3, true>(f))}; }
inline Float8E5M2 to_float8_e5m2(float f) { return {static_cast<uint8_t>(float_to_small<5, 2, false>(f))}; }

}  // namespace ingot
