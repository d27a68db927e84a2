// Philox4x32-10: a counter-based random generator (Salmon et al., SC'11). A number is a pure
// function of (seed, offset, index), so one seed gives the same numbers on every machine, for any
// number of threads and any order.
//
// The mapping, which eager and compiled code share and which must not change between releases:
//   key     = (low 32 bits of seed, high 32 bits of seed)
//   counter = (low, high 32 bits of block, low, high 32 bits of offset)
//   offset  = which draw this is: a generator takes one offset for every random operator call and
//             never reuses it
//   32-bit numbers (u32, float): index i is word   i % 4 of block i / 4
//   64-bit numbers (u64, double): index i is words 2 (i % 2), 2 (i % 2) + 1 (low, high)
//                                of block i / 2
// Uniform numbers are exact, the same bits everywhere. Normal numbers come from log, sin and cos:
// float ones are computed in double and rounded, so they agree to the last bit but for rare ties;
// double ones agree within 2 ulp of
// |x|.
#pragma once
#include <cmath>
#include <cstdint>

namespace ingot::kernels {

struct Philox4 {
  uint32_t word[4];
};

// The raw generator: ten rounds over a 128-bit counter with a 64-bit key.
constexpr Philox4 philox(Philox4 counter, uint32_t key0, uint32_t key1) {
  uint32_t c0 = counter.word[0], c1 = counter.word[1], c2 = counter.word[2], c3 = counter.word[3];
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c0, p1 = uint64_t{0xCD9E8D57u} * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ key0;
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ key1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// Four words of one block of a draw.
constexpr Philox4 philox(uint64_t seed, uint64_t offset, uint64_t block) {
  return philox(Philox4{{static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), static_cast<uint32_t>(offset),
                         static_cast<uint32_t>(offset >> 32)}},
                static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
}

constexpr uint64_t pair_of(const Philox4& p, int half) { return p.word[2 * half] | uint64_t{p.word[2 * half + 1]} << 32; }

// ---- from bits to numbers ----

constexpr float unit_float(uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }    // [0, 1), 24 bits
constexpr double unit_double(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }  // [0, 1), 53 bits
// [0, range): the high word of bits * range. Requires range > 0. The bias is below range / 2^64.
constexpr uint64_t below(uint64_t bits, uint64_t range) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(bits) * range) >> 64);
}

struct NormalPair {
  double first, second;
};
// Box-Muller on two uniform numbers of [0, 1): r = sqrt(-2 log(1 - u)), (r cos 2 pi v, r sin 2 pi
// v).
inline NormalPair box_muller(double u, double v) {
  const double r = std::sqrt(-2.0 * std::log(1.0 - u)), angle = 6.283185307179586476925 * v;
  return {r * std::cos(angle), r * std::sin(angle)};
}

// ---- number `index` of draw `offset` ----

constexpr uint32_t random_u32(uint64_t seed, uint64_t offset, uint64_t index) {
  return philox(seed, offset, index / 4).word[index % 4];
}
constexpr uint64_t random_u64(uint64_t seed, uint64_t offset, uint64_t index) {
  return pair_of(philox(seed, offset, index / 2), static_cast<int>(index % 2));
}
constexpr float uniform_float(uint64_t seed, uint64_t offset, uint64_t index) {
  return unit_float(random_u32(seed, offset, index));
}
constexpr double uniform_double(uint64_t seed, uint64_t offset, uint64_t index) {
  return unit_double(random_u64(seed, offset, index));
}
// Float normals 4 b .. 4 b + 3 are the pairs made from words (0, 1) and (2, 3) of block b.
inline float normal_float(uint64_t seed, uint64_t offset, uint64_t index) {
  const Philox4 p = philox(seed, offset, index / 4);
  const int lane = static_cast<int>(index % 4) / 2 * 2;
  const NormalPair z = box_muller(unit_float(p.word[lane]), unit_float(p.word[lane + 1]));
  return static_cast<float>(index % 2 == 0 ? z.first : z.second);
}
// Double normals 2 b, 2 b + 1 are the pair made from the two doubles of block b.
inline double normal_double(uint64_t seed, uint64_t offset, uint64_t index) {
  const Philox4 p = philox(seed, offset, index / 2);
  const NormalPair z = box_muller(unit_double(pair_of(p, 0)), unit_double(pair_of(p, 1)));
  return index % 2 == 0 ? z.first : z.second;
}

// ---- numbers [begin, end) of a draw: out[i - begin] = f(seed, offset, i); whole blocks are
// computed once ----

namespace detail {
template <int Lanes, class T, class Block>
inline void fill_blocks(T* out, int64_t begin, int64_t end, Block block) {
  for (int64_t i = begin; i < end;) {
    T lanes[Lanes];
    block(static_cast<uint64_t>(i / Lanes), lanes);
    for (int64_t lane = i % Lanes; lane < Lanes && i < end; ++lane, ++i) out[i - begin] = lanes[lane];
  }
}
}  // namespace detail

inline void fill_uniform(float* out, uint64_t seed, uint64_t offset, int64_t begin, int64_t end) {
  detail::fill_blocks<4>(out, begin, end, [=](uint64_t b, float* lanes) {
    const Philox4 p = philox(seed, offset, b);
    for (int j = 0; j < 4; ++j) lanes[j] = unit_float(p.word[j]);
  });
}
inline void fill_uniform(double* out, uint64_t seed, uint64_t offset, int64_t begin, int64_t end) {
  detail::fill_blocks<2>(out, begin, end, [=](uint64_t b, double* lanes) {
    const Philox4 p = philox(seed, offset, b);
    for (int j = 0; j < 2; ++j) lanes[j] = unit_double(pair_of(p, j));
  });
}
inline void fill_normal(float* out, uint64_t seed, uint64_t offset, int64_t begin, int64_t end) {
  detail::fill_blocks<4>(out, begin, end, [=](uint64_t b, float* lanes) {
    const Philox4 p = philox(seed, offset, b);
    for (int j = 0; j < 4; j += 2) {
      const NormalPair z = box_muller(unit_float(p.word[j]), unit_float(p.word[j + 1]));
      lanes[j] = static_cast<float>(z.first);
      lanes[j + 1] = static_cast<float>(z.second);
    }
  });
}
inline void fill_normal(double* out, uint64_t seed, uint64_t offset, int64_t begin, int64_t end) {
  detail::fill_blocks<2>(out, begin, end, [=](uint64_t b, double* lanes) {
    const Philox4 p = philox(seed, offset, b);
    const NormalPair z = box_muller(unit_double(pair_of(p, 0)), unit_double(pair_of(p, 1)));
    lanes[0] = z.first;
    lanes[1] = z.second;
  });
}
// Integers of [low, low + range); range 0 stands for 2^64, all values.
inline void fill_integers(int64_t* out, int64_t low, uint64_t range, uint64_t seed, uint64_t offset, int64_t begin, int64_t end) {
  detail::fill_blocks<2>(out, begin, end, [=](uint64_t b, int64_t* lanes) {
    const Philox4 p = philox(seed, offset, b);
    for (int j = 0; j < 2; ++j) {
      const uint64_t bits = pair_of(p, j);
      lanes[j] = static_cast<int64_t>(static_cast<uint64_t>(low) + (range == 0 ? bits : below(bits, range)));
    }
  });
}

}  // namespace ingot::kernels
