// Pooling against the definition, element by element in double, in the words of PyTorch's kernels.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/pool.hpp"

namespace ingot::kernels {
namespace {

struct Case {
  const char* name;
  Pool pool;  // out zero: computed by the floor rule
  bool ceil;
};

const Case kCases[] = {
    {"1d", {1, {13}, {}, {3}, {2}, {1}, {1}}, false},
    {"1d_ceil", {1, {12}, {}, {3}, {3}, {1}, {1}}, true},
    {"2d", {2, {8, 9}, {}, {3, 2}, {2, 1}, {1, 1}, {1, 1}}, false},
    {"2d_ceil", {2, {8, 10}, {}, {3, 3}, {2, 2}, {1, 1}, {1, 1}}, true},
    {"2d_dilated", {2, {11, 9}, {}, {3, 2}, {1, 2}, {1, 1}, {2, 3}}, false},
    {"2d_padded_dilated", {2, {6, 7}, {}, {4, 4}, {1, 1}, {2, 2}, {2, 2}}, true},
    {"3d", {3, {5, 6, 7}, {}, {2, 3, 2}, {1, 2, 2}, {1, 1, 0}, {1, 1, 1}}, false},
    {"3d_ceil", {3, {4, 5, 6}, {}, {3, 2, 3}, {2, 2, 2}, {0, 1, 1}, {1, 1, 1}}, true},
};

Pool complete(Case t, bool dilated) {
  Pool p = t.pool;
  for (int d = 0; d < p.dims; ++d) {
    if (!dilated) p.dilation[d] = 1;
    const int64_t room = p.in[d] + 2 * p.padding[d] - p.dilation[d] * (p.kernel[d] - 1) - 1;
    p.out[d] = (room + (t.ceil ? p.stride[d] - 1 : 0)) / p.stride[d] + 1;
    if (t.ceil && (p.out[d] - 1) * p.stride[d] >= p.in[d] + p.padding[d]) --p.out[d];
  }
  return p;
}

int64_t size(const int64_t* s, int dims) {
  int64_t n = 1;
  for (int d = 0; d < dims; ++d) n *= s[d];
  return n;
}

// Places in the input plane that output o reads, by enumerating all places; counted = the divisor.
std::vector<int64_t> window(const Pool& p, int64_t o, bool adaptive, bool include_pad, int64_t& counted) {
  std::vector<int64_t> places;
  int64_t at[3], rest = o;
  for (int d = p.dims - 1; d >= 0; --d) at[d] = rest % p.out[d], rest /= p.out[d];
  counted = 1;
  for (int d = 0; d < p.dims; ++d) {
    if (adaptive) continue;
    int64_t width = 0;
    for (int64_t k = 0; k < p.kernel[d]; ++k) {
      const int64_t i = at[d] * p.stride[d] - p.padding[d] + k * p.dilation[d];
      width += include_pad ? i < p.in[d] + p.padding[d] : i >= 0 && i < p.in[d];
    }
    counted *= width;
  }
  for (int64_t place = 0; place < size(p.in, p.dims); ++place) {
    bool inside = true;
    rest = place;
    for (int d = p.dims - 1; d >= 0; --d) {
      const int64_t i = rest % p.in[d];
      rest /= p.in[d];
      if (adaptive) {
        inside = inside && i >= std::floor(double(at[d] * p.in[d]) / double(p.out[d])) &&
                 i < std::ceil(double((at[d] + 1) * p.in[d]) / double(p.out[d]));
      } else {
        const int64_t k = i - (at[d] * p.stride[d] - p.padding[d]);
        inside = inside && k >= 0 && k % p.dilation[d] == 0 && k / p.dilation[d] < p.kernel[d];
      }
    }
    if (inside) places.push_back(place);
  }
  if (adaptive) counted = int64_t(places.size());
  return places;
}

template <class T>
class KernelsPool : public ::testing::Test {
 protected:
  static constexpr int64_t kPlanes = 3;
  std::mt19937 rng{11};
  std::vector<T> random(int64_t n, bool special = false) {
    std::vector<T> v(n);
    for (auto& x : v) x = static_cast<T>(int(rng() % 200) - 100) / T(8);  // ties happen
    for (auto& x : v) {
      if (special && rng() % 12 == 0) x = std::numeric_limits<T>::quiet_NaN();
      if (special && rng() % 12 == 0) x = -std::numeric_limits<T>::infinity();
    }
    return v;
  }
  void expect_same(T got, double want) {
    if (std::isnan(want)) ASSERT_TRUE(std::isnan(got));
    else ASSERT_NEAR(double(got), want, (sizeof(T) == 4 ? 1e-5 : 1e-13) * (1 + std::fabs(want)));
  }

  void check_max(const Pool& p, bool adaptive) {
    const int64_t in = size(p.in, p.dims), out = size(p.out, p.dims);
    const auto x = random(kPlanes * in, true), gy = random(kPlanes * out);
    std::vector<T> y(kPlanes * out), gx(kPlanes * in, T(9));
    std::vector<int64_t> index(kPlanes * out);
    for (int64_t plane = 0; plane < kPlanes; ++plane) {
      if (adaptive) adaptive_max_pool_forward(p, x.data(), y.data(), index.data(), plane, plane + 1);
      else max_pool_forward(p, x.data(), y.data(), index.data(), plane, plane + 1);
    }
    max_pool_backward(p, gy.data(), index.data(), gx.data(), 0, kPlanes);
    std::vector<double> want_gx(gx.size());
    for (int64_t plane = 0; plane < kPlanes; ++plane)
      for (int64_t o = 0; o < out; ++o) {
        int64_t counted;
        const auto places = window(p, o, adaptive, false, counted);
        double best = -std::numeric_limits<double>::infinity();
        ASSERT_FALSE(places.empty());
        int64_t at = places[0];
        for (const int64_t i : places) {
          const double v = double(x[plane * in + i]);
          if (v > best || std::isnan(v)) best = v, at = i;
        }
        ASSERT_EQ(index[plane * out + o], at);
        if (std::isinf(best)) ASSERT_EQ(double(y[plane * out + o]), best);
        else expect_same(y[plane * out + o], best);
        want_gx[plane * in + at] += double(gy[plane * out + o]);
      }
    for (size_t i = 0; i < gx.size(); ++i) expect_same(gx[i], want_gx[i]);
  }

  void check_avg(const Pool& p, bool adaptive, bool include_pad, int64_t override_by) {
    const int64_t in = size(p.in, p.dims), out = size(p.out, p.dims);
    const auto x = random(kPlanes * in), gy = random(kPlanes * out);
    std::vector<T> y(kPlanes * out), gx(kPlanes * in, T(9));
    if (adaptive) {
      adaptive_avg_pool_forward(p, x.data(), y.data(), 0, kPlanes);
      adaptive_avg_pool_backward(p, gy.data(), gx.data(), 0, kPlanes);
    } else {
      avg_pool_forward(p, include_pad, override_by, x.data(), y.data(), 0, kPlanes);
      avg_pool_backward(p, include_pad, override_by, gy.data(), gx.data(), 0, kPlanes);
    }
    std::vector<double> want_gx(gx.size());
    for (int64_t plane = 0; plane < kPlanes; ++plane)
      for (int64_t o = 0; o < out; ++o) {
        int64_t counted;
        const auto places = window(p, o, adaptive, include_pad, counted);
        if (override_by != 0) counted = override_by;
        double sum = 0;
        for (const int64_t i : places) {
          sum += double(x[plane * in + i]);
          want_gx[plane * in + i] += double(gy[plane * out + o]) / double(counted);
        }
        expect_same(y[plane * out + o], places.empty() ? 0 : sum / double(counted));
      }
    for (size_t i = 0; i < gx.size(); ++i) expect_same(gx[i], want_gx[i]);
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(KernelsPool, Types);

TYPED_TEST(KernelsPool, Max) {
  for (const Case& t : kCases) {
    SCOPED_TRACE(t.name);
    this->check_max(complete(t, true), false);
  }
}

TYPED_TEST(KernelsPool, Average) {
  for (const Case& t : kCases)
    for (const bool include_pad : {false, true})
      for (const int64_t override_by : {0, 5}) {
        SCOPED_TRACE(::testing::Message() << t.name << include_pad << override_by);
        this->check_avg(complete(t, false), false, include_pad, override_by);
      }
}

TYPED_TEST(KernelsPool, Adaptive) {
  const Pool cases[] = {{1, {10}, {4}, {}, {}, {}, {}},      {1, {3}, {7}, {}, {}, {}, {}},
                        {2, {7, 9}, {3, 4}, {}, {}, {}, {}}, {2, {7, 7}, {1, 1}, {}, {}, {}, {}},
                        {2, {2, 6}, {5, 6}, {}, {}, {}, {}}, {3, {4, 5, 6}, {2, 3, 4}, {}, {}, {}, {}}};
  for (const Pool& p : cases) {
    this->check_max(p, true);
    this->check_avg(p, true, false, 0);
  }
}

TEST(KernelsPoolIntegers, MaximumOfLargeNumbersIsExact) {
  const int64_t big = std::numeric_limits<int64_t>::max(), least = std::numeric_limits<int64_t>::min();
  const int64_t x[] = {big - 1, big, least, least};
  int64_t y[2], index[2];
  max_pool_forward(Pool{1, {4}, {2}, {2}, {2}, {0}, {1}}, x, y, index, 0, 1);
  EXPECT_EQ(y[0], big);
  EXPECT_EQ(y[1], least);
  EXPECT_EQ(index[1], 2);
}

}  // namespace
}  // namespace ingot::kernels
