// Philox: the known answers of Random123, the documented mapping, and the shape of the
// distributions.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/philox.hpp"

namespace ingot::kernels {
namespace {

void expect_words(const Philox4& got, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  EXPECT_EQ(got.word[0], a);
  EXPECT_EQ(got.word[1], b);
  EXPECT_EQ(got.word[2], c);
  EXPECT_EQ(got.word[3], d);
}

TEST(KernelsPhilox, KnownAnswers) {
  expect_words(philox(Philox4{{0, 0, 0, 0}}, 0, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
  expect_words(philox(Philox4{{~0u, ~0u, ~0u, ~0u}}, ~0u, ~0u), 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd);
  expect_words(philox(Philox4{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0), 0xd16cfe09, 0x94fdcceb,
               0x5001e420, 0x24126ea1);
}

TEST(KernelsPhilox, MappingOfSeedOffsetAndIndex) {
  const uint64_t seed = 0x299f31d0a4093822u, offset = 0x0370734413198a2eu, block = 0x85a308d3243f6a88u;
  expect_words(philox(seed, offset, block), 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1);
  static_assert(random_u32(0, 0, 0) == 0x6627e8d5 && random_u32(0, 0, 3) == 0x9b00dbd8);
  static_assert(random_u64(0, 0, 0) == 0xe169c58d6627e8d5u && random_u64(0, 0, 1) == 0x9b00dbd8bc57ac4cu);
  EXPECT_EQ(uniform_float(0, 0, 0), static_cast<float>(0x6627e8) / 16777216.0f);
  EXPECT_NE(random_u32(0, 0, 4), random_u32(0, 1, 0));
}

TEST(KernelsPhilox, UnitNumbersStayBelowOne) {
  EXPECT_LT(unit_float(~0u), 1.0f);
  EXPECT_LT(unit_double(~uint64_t{0}), 1.0);
  EXPECT_EQ(unit_float(0), 0.0f);
  EXPECT_EQ(below(~uint64_t{0}, 10), 9u);
  EXPECT_EQ(below(0, 10), 0u);
  EXPECT_TRUE(std::isfinite(box_muller(unit_double(~uint64_t{0}), 0.3).first));
}

template <class T, class Fill, class One>
void fill_equals_one_by_one(Fill fill, One one) {
  std::vector<T> whole(103), parts(103);
  fill(whole.data(), 0, 103);
  for (int64_t begin = 0; begin < 103; begin += 9) fill(parts.data() + begin, begin, std::min<int64_t>(103, begin + 9));
  EXPECT_EQ(whole, parts);
  for (int64_t i = 0; i < 103; ++i) EXPECT_EQ(whole[i], one(i));
}

TEST(KernelsPhilox, FillsAgreeWithSingleNumbersForAnySplit) {
  const uint64_t s = 42, o = 7;
  fill_equals_one_by_one<float>([=](float* p, int64_t b, int64_t e) { fill_uniform(p, s, o, b, e); },
                                [=](int64_t i) { return uniform_float(s, o, i); });
  fill_equals_one_by_one<double>([=](double* p, int64_t b, int64_t e) { fill_uniform(p, s, o, b, e); },
                                 [=](int64_t i) { return uniform_double(s, o, i); });
  fill_equals_one_by_one<float>([=](float* p, int64_t b, int64_t e) { fill_normal(p, s, o, b, e); },
                                [=](int64_t i) { return normal_float(s, o, i); });
  fill_equals_one_by_one<double>([=](double* p, int64_t b, int64_t e) { fill_normal(p, s, o, b, e); },
                                 [=](int64_t i) { return normal_double(s, o, i); });
  fill_equals_one_by_one<int64_t>([=](int64_t* p, int64_t b, int64_t e) { fill_integers(p, -5, 17, s, o, b, e); },
                                  [=](int64_t i) { return int64_t(below(random_u64(s, o, i), 17)) - 5; });
}

template <class T>
void expect_moments(const std::vector<T>& x, double mean, double variance, double fourth) {
  double m1 = 0, m2 = 0, m4 = 0;
  for (const T v : x) m1 += v;
  m1 /= double(x.size());
  for (const T v : x) {
    const double d = (v - m1) * (v - m1);
    m2 += d;
    m4 += d * d;
  }
  EXPECT_NEAR(m1, mean, 0.005);
  EXPECT_NEAR(m2 / double(x.size()), variance, 0.01);
  EXPECT_NEAR(m4 / double(x.size()), fourth, 0.05);
}

TEST(KernelsPhilox, Moments) {
  const int64_t n = 1 << 19;
  std::vector<float> f(n);
  std::vector<double> d(n);
  fill_uniform(f.data(), 1, 0, 0, n);
  expect_moments(f, 0.5, 1 / 12.0, 1 / 80.0);
  fill_uniform(d.data(), 1, 1, 0, n);
  expect_moments(d, 0.5, 1 / 12.0, 1 / 80.0);
  fill_normal(f.data(), 1, 2, 0, n);
  expect_moments(f, 0, 1, 3);
  fill_normal(d.data(), 1, 3, 0, n);
  expect_moments(d, 0, 1, 3);
}

}  // namespace
}  // namespace ingot::kernels
