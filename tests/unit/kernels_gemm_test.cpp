// gemm against three plain loops: every type, level and stride pattern; any split gives the same
// bits.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "base/long_sum.hpp"
#include "kernels/gemm.hpp"

namespace ingot::kernels {
namespace {

template <class T>
T random_value(std::mt19937& rng) {
  std::uniform_real_distribution<double> u(-1, 1);
  if constexpr (std::is_same_v<T, int64_t>) return static_cast<int64_t>(rng() % 201) - 100;
  else if constexpr (std::is_floating_point_v<T>) return static_cast<T>(u(rng));
  else return T(static_cast<typename T::value_type>(u(rng)), static_cast<typename T::value_type>(u(rng)));
}

struct Free {
  void operator()(void* p) const { std::free(p); }
};
std::unique_ptr<void, Free> scratch(int64_t bytes) {
  return std::unique_ptr<void, Free>(std::aligned_alloc(64, static_cast<size_t>((bytes + 127) / 64 * 64)));
}

enum Layout { kRow, kColumn, kSpaced, kReversed };

// A buffer of rows x cols in the given layout: element (i, j) at data[origin + i * row + j * col].
struct Placed {
  int64_t row, col, size, origin;
};
Placed place(Layout l, int64_t rows, int64_t cols) {
  switch (l) {
    case kRow: return {cols, 1, rows * cols, 0};
    case kColumn: return {1, rows, rows * cols, 0};
    case kSpaced: return {3 * cols + 2, 3, rows * (3 * cols + 2) + 1, 0};
    case kReversed: return {-cols, -1, rows * cols, rows * cols - 1};
  }
  return {};
}

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, int64_t>, int64_t,
                                std::conditional_t<std::is_floating_point_v<T>, double, std::complex<double>>>;

template <class T>
void check(int64_t m, int64_t n, int64_t k, Layout la, Layout lb, Layout lc, T alpha, T beta, int level, bool split) {
  std::mt19937 rng(static_cast<unsigned>(m * 7 + n * 13 + k));
  const Placed pa = place(la, m, k), pb = place(lb, k, n), pc = place(lc, m, n);
  std::vector<T> a(pa.size + 1), b(pb.size + 1), c(pc.size + 1);
  for (auto& x : a) x = random_value<T>(rng);
  for (auto& x : b) x = random_value<T>(rng);
  for (auto& x : c) x = random_value<T>(rng);
  const std::vector<T> before = c;
  Gemm<T> g{m,
            n,
            k,
            alpha,
            a.data() + pa.origin,
            pa.row,
            pa.col,
            b.data() + pb.origin,
            pb.row,
            pb.col,
            beta,
            c.data() + pc.origin,
            pc.row,
            pc.col};
  auto memory = scratch(gemm_scratch_bytes<T>(m, n, k));
  const int64_t tasks = gemm_tasks(m, n, k);
  if (split) {
    for (int64_t t = 0; t < tasks; t += 3) detail::gemm_at(level, g, t, std::min(tasks, t + 3), memory.get());
  } else {
    detail::gemm_at(level, g, 0, tasks, memory.get());
  }
  std::vector<bool> touched(c.size());
  const double tolerance = sizeof(T) == sizeof(float) || std::is_same_v<T, std::complex<float>> ? 2e-6 : 1e-14;
  // Each part of a complex element is a sum of twice as many products.
  const double products = static_cast<double>(std::is_arithmetic_v<T> ? k : 2 * k);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      Wide<T> sum{};
      for (int64_t p = 0; p < k; ++p) sum += Wide<T>(g.a[i * pa.row + p * pa.col]) * Wide<T>(g.b[p * pb.row + j * pb.col]);
      const int64_t at = pc.origin + i * pc.row + j * pc.col;
      const Wide<T> want = Wide<T>(alpha) * sum + Wide<T>(beta) * Wide<T>(before[at]);
      touched[at] = true;
      if constexpr (std::is_same_v<T, int64_t>) ASSERT_EQ(c[at], want);
      else ASSERT_LE(std::abs(Wide<T>(c[at]) - want), tolerance * (4 + std::sqrt(products))) << i << "," << j;
    }
  for (size_t i = 0; i < c.size(); ++i) {
    if (!touched[i]) {
      ASSERT_EQ(c[i], before[i]) << "gap written at " << i;
    }
  }
}

template <class T>
class KernelsGemm : public ::testing::Test {};
using Types = ::testing::Types<float, double, int64_t, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(KernelsGemm, Types);

TYPED_TEST(KernelsGemm, MatchesPlainLoops) {
  using T = TypeParam;
  const int64_t sizes[][3] = {{1, 1, 1},     {2, 3, 4}, {6, 16, 9},    {12, 32, 256},  {13, 33, 257}, {5, 1, 70},
                              {1, 210, 300}, {1, 9, 1}, {97, 389, 40}, {130, 70, 520}, {3, 50, 4097}};
  for (int level = 0; level <= detail::vector_level(); ++level)
    for (auto& s : sizes)
      for (int layout = 0; layout < 8; ++layout) {
        SCOPED_TRACE(::testing::Message() << s[0] << "x" << s[1] << "x" << s[2] << " layout " << layout << " level " << level);
        const Layout ls[] = {kRow, kColumn, kSpaced, kReversed};
        check<T>(s[0], s[1], s[2], ls[layout % 4], ls[(layout / 2 + layout) % 4], ls[(layout / 4 + 3 * layout) % 4],
                 layout % 3 == 0 ? T(1) : T(2), layout % 2 == 0 ? T(0) : T(3), level, layout > 4);
      }
}

TYPED_TEST(KernelsGemm, EmptyProductScalesC) {
  using T = TypeParam;
  std::vector<T> c{T(1), T(2), T(3), T(4)};
  Gemm<T> g{2, 2, 0, T(1), nullptr, 1, 1, nullptr, 1, 1, T(3), c.data(), 2, 1};
  gemm(g, nullptr);
  EXPECT_EQ(c, (std::vector<T>{T(3), T(6), T(9), T(12)}));
  g.beta = T(0);
  gemm(g, nullptr);
  EXPECT_EQ(c, std::vector<T>(4));
}

TYPED_TEST(KernelsGemm, AnySplitGivesTheSameBits) {
  using T = TypeParam;
  std::mt19937 rng(5);
  const int64_t sizes[][3] = {{1, 1, 300},   {1, 500, 300},   {2, 1, 300},    {2, 500, 300},
                              {200, 1, 300}, {200, 500, 300}, {60, 100, 4100}};
  for (const auto& [m, n, k] : sizes) {
    const int64_t tasks = gemm_tasks(m, n, k);
    std::vector<T> a(m * k), b(k * n), whole(m * n), parts(m * n);
    for (auto& x : a) x = random_value<T>(rng);
    for (auto& x : b) x = random_value<T>(rng);
    auto memory = scratch(gemm_scratch_bytes<T>(m, n, k));
    Gemm<T> g{m, n, k, T(1), a.data(), k, 1, b.data(), n, 1, T(0), whole.data(), n, 1};
    gemm(g, memory.get());
    g.c = parts.data();
    for (int64_t step = 1; step < 6; ++step) {
      std::fill(parts.begin(), parts.end(), T(7));
      for (int64_t t = tasks; t > 0; t -= step) gemm(g, std::max<int64_t>(0, t - step), t, memory.get());
      ASSERT_EQ(whole, parts);
    }
  }
}

// Every operand is one number, read again and again: all blocks have one sum, and the product is so
// many times this sum, rounded once. Added up in float they are off by 1.4e-4.
template <class T, class Wide>
void check_long_product(T x) {
  const int64_t blocks = 40000, k = kTermsOfOneSum * blocks;
  std::vector<T> one(6), all(6);
  auto memory = scratch(gemm_scratch_bytes<T>(2, 3, k));
  gemm(Gemm<T>{2, 3, kTermsOfOneSum, 1, &x, 0, 0, &x, 0, 0, 0, one.data(), 3, 1}, memory.get());
  gemm(Gemm<T>{2, 3, k, 1, &x, 0, 0, &x, 0, 0, 0, all.data(), 3, 1}, memory.get());
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], T(Wide(one[i]) * double(blocks)));
}
TEST(KernelsGemmFloat, TheLengthOfAProductCostsNoDigits) {
  check_long_product<float, double>(0.1F);
  check_long_product<std::complex<float>, std::complex<double>>({0.1F, 0.3F});
}

TEST(KernelsGemmFloat, ZeroBetaDoesNotReadC) {
  std::vector<float> a(64, 1), b(64, 1), c(64, std::numeric_limits<float>::quiet_NaN());
  auto memory = scratch(gemm_scratch_bytes<float>(8, 8, 8));
  gemm(Gemm<float>{8, 8, 8, 1, a.data(), 8, 1, b.data(), 8, 1, 0, c.data(), 8, 1}, memory.get());
  for (const float x : c) EXPECT_EQ(x, 8);
}

TEST(KernelsGemmFloat, BroadcastOperandHasZeroStride) {
  const float one = 2;
  std::vector<float> b(32 * 40, 3), c(20 * 40);
  auto memory = scratch(gemm_scratch_bytes<float>(20, 40, 32));
  gemm(Gemm<float>{20, 40, 32, 1, &one, 0, 0, b.data(), 40, 1, 0, c.data(), 40, 1}, memory.get());
  for (const float x : c) EXPECT_EQ(x, 192);
}

}  // namespace
}  // namespace ingot::kernels
