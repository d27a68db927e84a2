#include "io/crc32.hpp"

#include <zlib.h>

#include <array>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>

#include <cstring>
#endif

namespace ingot {

namespace {

// zlib inverts the state on its way in and out; this is the state itself.
[[maybe_unused]] uint32_t raw_crc(uint32_t state, const unsigned char* p, std::size_t n) {
  return ~static_cast<uint32_t>(::crc32_z(~state, p, n));
}

#if defined(__x86_64__)

// A CRC is the remainder of the bytes, taken as a polynomial over two elements, by a fixed one of
// degree 32. Sixteen bytes may be replaced by anything with the same remainder as long as what
// follows is adjusted: they are multiplied by the remainder of x^distance and added to the sixteen
// bytes that lie `distance` bits further on. Four such accumulators side by side keep the
// multiplier busy; the last sixteen bytes that are left go through zlib.
//
// The remainder of x^n, in the bit order of zip's CRC (lowest bit is the highest power), shifted
// left by the one bit that a product of two numbers in that order lacks.
constexpr uint64_t power(int n) {
  uint32_t r = 0x80000000u;  // x^0
  for (int i = 0; i < n; i++) r = r >> 1 ^ (r & 1 ? 0xEDB88320u : 0);
  return uint64_t{r} << 1;
}

constexpr std::size_t kLane = 16, kBlock = 4 * kLane;

__attribute__((target("pclmul,sse4.1"))) inline __m128i fold(__m128i a, __m128i powers, __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(a, powers, 0x00), high = _mm_clmulepi64_si128(a, powers, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

__attribute__((target("pclmul,sse4.1"))) uint32_t folded_crc(uint32_t state, const unsigned char* p, std::size_t n) {
  const auto load = [](const unsigned char* at) __attribute__((target("pclmul,sse4.1"))) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  };
  // Each half of a lane has its own distance: the low one stands for the higher powers.
  constexpr uint64_t kBlockLow = power(8 * kBlock + 32), kBlockHigh = power(8 * kBlock - 32);
  constexpr uint64_t kLaneLow = power(8 * kLane + 32), kLaneHigh = power(8 * kLane - 32);
  const __m128i by_block = _mm_set_epi64x(kBlockHigh, kBlockLow), by_lane = _mm_set_epi64x(kLaneHigh, kLaneLow);
  __m128i a = _mm_xor_si128(load(p), _mm_cvtsi32_si128(static_cast<int>(state)));
  __m128i b = load(p + kLane), c = load(p + 2 * kLane), d = load(p + 3 * kLane);
  for (p += kBlock, n -= kBlock; n >= kBlock; p += kBlock, n -= kBlock) {
    a = fold(a, by_block, load(p));
    b = fold(b, by_block, load(p + kLane));
    c = fold(c, by_block, load(p + 2 * kLane));
    d = fold(d, by_block, load(p + 3 * kLane));
  }
  a = fold(fold(fold(a, by_lane, b), by_lane, c), by_lane, d);
  std::array<unsigned char, kLane> rest;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(rest.data()), a);
  return raw_crc(raw_crc(0, rest.data(), kLane), p, n);
}

uint32_t fast_crc(uint32_t state, const unsigned char* p, std::size_t n) {
  static const bool has_multiplier = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  return has_multiplier && n >= kBlock ? folded_crc(state, p, n) : raw_crc(state, p, n);
}

#elif defined(__aarch64__)

__attribute__((target("+crc"))) uint32_t instruction_crc(uint32_t state, const unsigned char* p, std::size_t n) {
  for (; n >= 8; p += 8, n -= 8) {
    uint64_t word;
    std::memcpy(&word, p, sizeof word);
    state = __crc32d(state, word);
  }
  for (; n > 0; p++, n--) state = __crc32b(state, *p);
  return state;
}

uint32_t fast_crc(uint32_t state, const unsigned char* p, std::size_t n) {
  static const bool has_instruction = getauxval(AT_HWCAP) & HWCAP_CRC32;
  return has_instruction ? instruction_crc(state, p, n) : raw_crc(state, p, n);
}

#else

uint32_t fast_crc(uint32_t state, const unsigned char* p, std::size_t n) { return raw_crc(state, p, n); }

#endif

}  // namespace

uint32_t crc32_of(const void* data, std::size_t size, uint32_t before) {
  return ~fast_crc(~before, static_cast<const unsigned char*>(data), size);
}

}  // namespace ingot
