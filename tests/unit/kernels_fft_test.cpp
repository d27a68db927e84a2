// The transforms against the sum that defines them, in double.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <vector>

#include "kernels/fft.hpp"

namespace ingot::kernels {
namespace {

using C = std::complex<double>;

template <class T>
std::vector<C> reference(const std::vector<std::complex<T>>& x, bool inverse) {
  const int64_t n = int64_t(x.size());
  std::vector<C> roots(n), y(n);
  for (int64_t k = 0; k < n; ++k) roots[k] = std::polar(1.0, (inverse ? 2 : -2) * std::numbers::pi * double(k) / double(n));
  for (int64_t j = 0; j < n; ++j)
    for (int64_t k = 0; k < n; ++k) y[j] += roots[j * k % n] * C(x[k]);
  return y;
}

template <class T>
class KernelsFft : public ::testing::Test {
 protected:
  std::mt19937 rng{2};
  std::vector<std::complex<T>> random(int64_t n) {
    std::uniform_real_distribution<double> u(-1, 1);
    std::vector<std::complex<T>> v(n);
    for (auto& x : v) x = {T(u(rng)), T(u(rng))};
    return v;
  }
  void expect_near(std::complex<T> got, C want, int64_t n) {
    const double tolerance = (sizeof(T) == 4 ? 4e-7 : 1e-15) * std::sqrt(double(n)) * (2 + std::log2(double(n)));
    ASSERT_LE(std::abs(C(got) - want), tolerance);
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(KernelsFft, Types);

TYPED_TEST(KernelsFft, EveryLengthMatchesTheSum) {
  using T = TypeParam;
  std::vector<int64_t> lengths;
  for (int64_t n = 1; n <= 70; ++n) lengths.push_back(n);
  for (const int64_t n : {97, 101, 120, 121, 128, 169, 210, 243, 251, 256, 360, 509, 512, 1000, 1001, 1024, 1155})
    lengths.push_back(n);
  for (const int64_t n : lengths) {
    SCOPED_TRACE(n);
    std::vector<double> plan(fft_plan_bytes<T>(n) / 8 + 3), scratch(fft_scratch_bytes<T>(n) / 8 + 3);
    fft_make_plan<T>(n, plan.data());
    const auto x = this->random(n);
    const Rows rows = Rows::along(n, 1);
    for (const bool inverse : {false, true}) {
      auto want = reference(x, inverse);
      std::vector<std::complex<T>> y(n), z = x;
      fft_rows<T>(plan.data(), n, inverse, T(1), x.data(), rows, y.data(), rows, 0, 1, scratch.data());
      fft_rows<T>(plan.data(), n, inverse, T(1), z.data(), rows, z.data(), rows, 0, 1, scratch.data());
      for (int64_t j = 0; j < n; ++j) this->expect_near(y[j], want[j], n);
      ASSERT_EQ(y, z) << "in place";
    }
    std::vector<T> real(n), back(n);
    std::vector<std::complex<T>> wide(n), half(n / 2 + 1);
    for (int64_t k = 0; k < n; ++k) wide[k] = real[k] = x[k].real();
    fft_real_rows<T>(plan.data(), n, T(1), real.data(), rows, half.data(), Rows::along(n / 2 + 1, 1), 0, 1, scratch.data());
    const auto want = reference(wide, false);
    for (int64_t j = 0; j <= n / 2; ++j) this->expect_near(half[j], want[j], n);
    half[0].imag(T(5));  // ignored
    if (n % 2 == 0) half[n / 2].imag(T(7));
    fft_hermitian_rows<T>(plan.data(), n, T(1) / T(n), half.data(), Rows::along(n / 2 + 1, 1), back.data(), rows, 0, 1,
                          scratch.data());
    for (int64_t k = 0; k < n; ++k) this->expect_near(back[k], C(real[k]), 4);
  }
}

TYPED_TEST(KernelsFft, StridedRowsAndSplits) {
  using T = TypeParam;
  for (const int64_t n : {6, 17}) {
    const int64_t outer = 3, inner = 5;
    const auto x = this->random(outer * n * inner);
    std::vector<std::complex<T>> y(x.size());
    std::vector<double> plan(fft_plan_bytes<T>(n) / 8 + 3), scratch(fft_scratch_bytes<T>(n) / 8 + 3);
    fft_make_plan<T>(n, plan.data());
    const Rows in = Rows::along(n, inner), out = Rows::along(n, 1);
    for (int64_t r = 0; r < outer * inner; ++r)
      fft_rows<T>(plan.data(), n, false, T(0.5), x.data(), in, y.data(), out, r, r + 1, scratch.data());
    for (int64_t r = 0; r < outer * inner; ++r) {
      std::vector<std::complex<T>> row(n);
      for (int64_t k = 0; k < n; ++k) row[k] = x[in.start(r) + k * in.stride];
      const auto want = reference(row, false);
      for (int64_t j = 0; j < n; ++j) this->expect_near(y[r * n + j], 0.5 * want[j], n);
    }
  }
}

TYPED_TEST(KernelsFft, LongTransformsInvert) {
  using T = TypeParam;
  for (const int64_t n : {1 << 16, 65537, 3 * 5 * 7 * 11 * 13 * 4}) {
    SCOPED_TRACE(n);
    std::vector<double> plan(fft_plan_bytes<T>(n) / 8 + 3), scratch(fft_scratch_bytes<T>(n) / 8 + 3);
    fft_make_plan<T>(n, plan.data());
    const auto x = this->random(n);
    auto y = x;
    const Rows rows = Rows::along(n, 1);
    fft_rows<T>(plan.data(), n, false, T(1), y.data(), rows, y.data(), rows, 0, 1, scratch.data());
    fft_rows<T>(plan.data(), n, true, T(1) / T(n), y.data(), rows, y.data(), rows, 0, 1, scratch.data());
    for (int64_t k = 0; k < n; ++k) this->expect_near(y[k], C(x[k]), 16);
  }
}

}  // namespace
}  // namespace ingot::kernels
