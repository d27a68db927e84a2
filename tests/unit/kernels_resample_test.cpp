// Resampling against plain formulas in double and numbers from PyTorch's documentation; gradients
// as transposes of the forward, and by finite differences for the grid.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "kernels/resample.hpp"

namespace ingot::kernels {
namespace {

std::mt19937 rng(17);
template <class T>
std::vector<T> random(int64_t n, double low = -1, double high = 1) {
  std::uniform_real_distribution<double> u(low, high);
  std::vector<T> v(n);
  for (auto& x : v) x = T(u(rng));
  return v;
}
int64_t size(const int64_t* s, int dims) {
  int64_t n = 1;
  for (int d = 0; d < dims; ++d) n *= s[d];
  return n;
}

// Keys' filter at any distance.
double keys(double x, double a) {
  x = std::fabs(x);
  if (x <= 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  if (x < 2) return a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a;
  return 0;
}
double triangle(double x) { return std::max(0.0, 1 - std::fabs(x)); }

// Row o of the [out, in] matrix that interpolates one dimension.
std::vector<double> matrix_row(const Resample& r, int d, int64_t o) {
  const int64_t in = r.in[d], out = r.out[d];
  std::vector<double> row(in);
  const bool nearest = r.mode == Interpolation::nearest || r.mode == Interpolation::nearest_exact;
  const bool align = r.align_corners && !nearest;
  const double step =
      align ? (out > 1 ? double(in - 1) / double(out - 1) : 0) : (r.scale[d] > 0 ? 1 / r.scale[d] : double(in) / double(out));
  auto border = [&](int64_t i) -> double& { return row[std::clamp<int64_t>(i, 0, in - 1)]; };
  const bool aa = r.mode == Interpolation::linear_aa || r.mode == Interpolation::cubic_aa;
  const double source = align && !aa ? step * double(o) : step * (double(o) + 0.5) - 0.5;
  switch (r.mode) {
    case Interpolation::nearest: border(int64_t(std::floor(step * double(o)))) = 1; break;
    case Interpolation::nearest_exact: border(int64_t(std::floor(step * (double(o) + 0.5)))) = 1; break;
    case Interpolation::linear:
      if (in == out) {
        row[o] = 1;
      } else {
        const double s = std::clamp(source, 0.0, double(in - 1));
        for (int64_t i = 0; i < in; ++i) row[i] = triangle(s - double(i));
      }
      break;
    case Interpolation::cubic: {
      const int64_t base = int64_t(std::floor(source));
      for (int64_t i = base - 1; i <= base + 2; ++i) border(i) += keys(source - double(i), -0.75);
      break;
    }
    default: {
      const double width = std::max(1.0, step), radius = (r.mode == Interpolation::linear_aa ? 1 : 2) * width;
      double total = 0;
      for (int64_t i = 0; i < in; ++i) {
        if (std::fabs(double(i) - source) > radius) continue;
        row[i] = r.mode == Interpolation::linear_aa ? triangle((double(i) - source) / width)
                                                    : keys((double(i) - source) / width, -0.5);
        total += row[i];
      }
      for (double& w : row) w /= total;
    }
  }
  return row;
}

template <class T>
std::vector<double> reference(const Resample& r, const std::vector<T>& x, int64_t planes) {
  std::vector<double> from(x.begin(), x.end());
  int64_t before = planes, after = size(r.in, r.dims);
  for (int d = 0; d < r.dims; ++d) {  // one dimension at a time: [before, in, after] -> [before, out, after]
    after /= r.in[d];
    std::vector<double> to(before * r.out[d] * after);
    for (int64_t o = 0; o < r.out[d]; ++o) {
      const auto row = matrix_row(r, d, o);
      for (int64_t b = 0; b < before; ++b)
        for (int64_t i = 0; i < r.in[d]; ++i)
          for (int64_t a = 0; a < after; ++a) to[(b * r.out[d] + o) * after + a] += row[i] * from[(b * r.in[d] + i) * after + a];
    }
    from = to;
    before *= r.out[d];
  }
  return from;
}

template <class T>
class KernelsResample : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(KernelsResample, Types);

TYPED_TEST(KernelsResample, EveryModeMatchesTheFormulaAndItsTranspose) {
  using T = TypeParam;
  using enum Interpolation;
  const Resample shapes[] = {{1, nearest, 0, {5}, {11}, {}},
                             {1, nearest, 0, {12}, {5}, {}},
                             {1, nearest, 0, {6}, {15}, {2.5}},
                             {2, nearest, 0, {4, 5}, {8, 3}, {}},
                             {2, nearest, 0, {7, 6}, {7, 9}, {}},
                             {2, nearest, 0, {5, 3}, {1, 1}, {}},
                             {2, nearest, 0, {4, 6}, {10, 14}, {2.6, 2.4}},
                             {2, nearest, 0, {1, 1}, {3, 4}, {}},
                             {3, nearest, 0, {3, 4, 5}, {5, 6, 4}, {}},
                             {3, nearest, 0, {2, 5, 6}, {4, 5, 3}, {2.0, 1.0, 0.5}}};
  for (Resample r : shapes)
    for (const Interpolation mode : {nearest, nearest_exact, linear, cubic, linear_aa, cubic_aa})
      for (const int align : {0, 1}) {
        r.mode = mode;
        r.align_corners = align;
        SCOPED_TRACE(::testing::Message() << "dims " << r.dims << " mode " << int(mode) << " align " << align << " " << r.in[0]
                                          << "->" << r.out[0]);
        const int64_t planes = 3, in = size(r.in, r.dims), out = size(r.out, r.dims);
        const auto x = random<T>(planes * in), gy = random<T>(planes * out);
        std::vector<T> y(planes * out, T(7)), gx(planes * in, T(7));
        std::vector<double> scratch(resample_scratch_bytes<T>(r) / 8 + 1);
        for (int64_t p = planes - 1; p >= 0; --p) {
          resample_forward<T>(r, x.data(), y.data(), p, p + 1, scratch.data());
          resample_backward<T>(r, gy.data(), gx.data(), p, p + 1, scratch.data());
        }
        const auto want = reference(r, x, planes);
        for (size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(double(y[i]), want[i], sizeof(T) == 4 ? 5e-6 : 1e-13) << i;
        double left = 0, right = 0;
        for (size_t i = 0; i < y.size(); ++i) left += double(y[i]) * double(gy[i]);
        for (size_t i = 0; i < x.size(); ++i) right += double(x[i]) * double(gx[i]);
        ASSERT_NEAR(left, right, sizeof(T) == 4 ? 1e-4 : 1e-12);
      }
}

TEST(KernelsResampleDocumented, NumbersFromPyTorch) {
  const float x[] = {1, 2, 3, 4};
  float y[16];
  double scratch[200];
  Resample r{2, Interpolation::nearest, 0, {2, 2}, {4, 4}, {2, 2}};
  resample_forward<float>(r, x, y, 0, 1, scratch);
  EXPECT_EQ(std::vector<float>(y, y + 16), (std::vector<float>{1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4}));
  r.mode = Interpolation::linear;
  resample_forward<float>(r, x, y, 0, 1, scratch);
  EXPECT_EQ(std::vector<float>(y, y + 16),
            (std::vector<float>{1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4}));
  r.align_corners = 1;
  resample_forward<float>(r, x, y, 0, 1, scratch);
  const double aligned[] = {1, 1.3333, 1.6667, 2, 1.6667, 2, 2.3333, 2.6667, 2.3333, 2.6667, 3, 3.3333, 3, 3.3333, 3.6667, 4};
  for (int i = 0; i < 16; ++i) EXPECT_NEAR(y[i], aligned[i], 1e-4);
}

// ---- grids ----

// One sample by the definition: unnormalise, pad, interpolate; in two or three dimensions.
double sample(const GridSample& s, const double* plane, const double* point) {
  auto pad = [&](double x, int64_t n) {
    if (s.padding == GridPadding::zeros) return x;
    if (s.padding == GridPadding::reflection) {
      const double low = s.align_corners ? 0 : -0.5, high = s.align_corners ? double(n - 1) : double(n) - 0.5;
      if (low == high) return 0.0;
      while (x < low || x > high) x = x < low ? 2 * low - x : 2 * high - x;
    }
    return std::clamp(x, 0.0, double(n - 1));
  };
  std::vector<std::pair<int64_t, double>> reads{{0, 1.0}};  // place and weight so far
  for (int d = 0; d < s.dims; ++d) {
    const int64_t n = s.in[d];
    const double g = point[s.dims - 1 - d];
    double x = s.align_corners ? (g + 1) / 2 * double(n - 1) : ((g + 1) * double(n) - 1) / 2;
    std::vector<std::pair<double, double>> taps;
    if (s.mode == GridInterpolation::cubic) {
      for (double i = std::floor(x) - 1; i <= std::floor(x) + 2; ++i) taps.push_back({pad(i, n), keys(x - i, -0.75)});
    } else {
      x = pad(x, n);
      if (s.mode == GridInterpolation::nearest) taps.push_back({std::nearbyint(x), 1});
      else
        for (double i = std::floor(x); i <= std::floor(x) + 1; ++i) taps.push_back({i, triangle(x - i)});
    }
    std::vector<std::pair<int64_t, double>> next;
    for (auto [place, weight] : reads)
      for (auto [i, w] : taps)
        if (i >= 0 && i < double(n)) next.push_back({place * n + int64_t(i), weight * w});
    reads = next;
  }
  double sum = 0;
  for (auto [place, weight] : reads) sum += weight * plane[place];
  return sum;
}

TYPED_TEST(KernelsResample, GridSampleMatchesTheDefinitionAndDifferences) {
  using T = TypeParam;
  for (const int dims : {2, 3})
    for (const auto mode : {GridInterpolation::linear, GridInterpolation::nearest, GridInterpolation::cubic})
      for (const auto padding : {GridPadding::zeros, GridPadding::border, GridPadding::reflection})
        for (const int align : {0, 1}) {
          if (dims == 3 && mode == GridInterpolation::cubic) continue;
          SCOPED_TRACE(::testing::Message() << dims << "d mode " << int(mode) << " padding " << int(padding) << " align "
                                            << align);
          GridSample s{dims, mode, padding, align, 2, 3, {4, 5, 3}, {3, 4, 2}};
          const int64_t in = size(s.in, dims), out = size(s.out, dims);
          const auto x = random<T>(6 * in), gy = random<T>(6 * out), grid = random<T>(2 * out * dims, -1.7, 1.7);
          std::vector<T> y(6 * out), gx(6 * in), ggrid(grid.size());
          for (int64_t t = grid_sample_forward_tasks(s) - 1; t >= 0; --t)
            grid_sample_forward<T>(s, x.data(), grid.data(), y.data(), t, t + 1);
          grid_sample_backward<T>(s, gy.data(), x.data(), grid.data(), gx.data(), ggrid.data(), 0, 2);
          const std::vector<double> wide(x.begin(), x.end());
          double left = 0, right = 0;
          for (int64_t b = 0; b < 2; ++b)
            for (int64_t p = 0; p < out; ++p) {
              double point[3], up[3] = {}, h = 1e-6;
              for (int d = 0; d < dims; ++d) point[d] = double(grid[(b * out + p) * dims + d]);
              for (int64_t c = 0; c < 3; ++c) {
                const double* plane = wide.data() + (b * 3 + c) * in;
                const int64_t o = (b * 3 + c) * out + p;
                ASSERT_NEAR(double(y[o]), sample(s, plane, point), sizeof(T) == 4 ? 5e-6 : 1e-13);
                left += double(y[o]) * double(gy[o]);
                for (int d = 0; d < dims; ++d) {
                  double forth[3], back[3];
                  std::copy(point, point + 3, forth), std::copy(point, point + 3, back);
                  forth[d] += h, back[d] -= h;
                  up[d] += double(gy[o]) * (sample(s, plane, forth) - sample(s, plane, back)) / (2 * h);
                }
              }
              for (int d = 0; d < dims; ++d)
                ASSERT_NEAR(double(ggrid[(b * out + p) * dims + d]), up[d], sizeof(T) == 4 ? 2e-4 : 1e-6);
            }
          for (size_t i = 0; i < x.size(); ++i) right += double(x[i]) * double(gx[i]);
          ASSERT_NEAR(left, right, sizeof(T) == 4 ? 1e-4 : 1e-12);
        }
}

TYPED_TEST(KernelsResample, GridPointsThatAreNotFiniteAreSafe) {
  using T = TypeParam;
  const T nan = std::numeric_limits<T>::quiet_NaN(), inf = std::numeric_limits<T>::infinity();
  const std::vector<T> grid{nan, 0, inf, 0, -inf, nan, T(1e30), T(-1e30)}, x(9, T(1)), gy(4, T(1));
  for (const auto mode : {GridInterpolation::linear, GridInterpolation::nearest, GridInterpolation::cubic})
    for (const auto padding : {GridPadding::zeros, GridPadding::border, GridPadding::reflection}) {
      GridSample s{2, mode, padding, 0, 1, 1, {3, 3}, {2, 2}};
      std::vector<T> y(4), gx(9), ggrid(8);
      grid_sample_forward<T>(s, x.data(), grid.data(), y.data(), 0, 2);
      grid_sample_backward<T>(s, gy.data(), x.data(), grid.data(), gx.data(), ggrid.data(), 0, 1);
      for (const T v : y) EXPECT_TRUE(v == T(0) || (padding != GridPadding::zeros && std::fabs(v - T(1)) < T(1e-6)));
    }
}

}  // namespace
}  // namespace ingot::kernels
