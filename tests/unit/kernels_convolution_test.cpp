// Convolution and its gradients against the definition, in double.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "kernels/convolution.hpp"

namespace ingot::kernels {
namespace {

struct Case {
  const char* name;
  int dims;
  int64_t batch, groups, in_channels, out_channels;
  int64_t in[3], kernel[3], stride[3], padding[3], dilation[3];
};

const Case kCases[] = {
    {"conv1d", 1, 2, 1, 3, 5, {17}, {4}, {1}, {2}, {1}},
    {"conv1d_long", 1, 1, 1, 2, 3, {5000}, {9}, {2}, {4}, {3}},
    {"conv2d", 2, 2, 1, 4, 6, {9, 11}, {3, 2}, {1, 1}, {1, 0}, {1, 1}},
    {"strided", 2, 1, 1, 5, 7, {12, 9}, {3, 3}, {2, 3}, {1, 2}, {1, 1}},
    {"dilated", 2, 1, 1, 3, 4, {13, 12}, {3, 3}, {1, 2}, {2, 3}, {2, 3}},
    {"grouped", 2, 2, 3, 6, 9, {7, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"depthwise", 2, 2, 5, 5, 10, {8, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"depthwise_strided", 2, 1, 4, 4, 4, {11, 9}, {3, 5}, {2, 2}, {1, 3}, {1, 2}},
    {"one_by_one", 2, 2, 1, 33, 20, {10, 13}, {1, 1}, {1, 1}, {0, 0}, {1, 1}},
    {"one_by_one_strided", 2, 1, 2, 8, 6, {9, 9}, {1, 1}, {2, 2}, {0, 0}, {1, 1}},
    {"whole_image", 2, 2, 1, 3, 8, {6, 5}, {6, 5}, {1, 1}, {0, 0}, {1, 1}},
    {"padding_beyond_kernel", 2, 1, 1, 2, 2, {3, 3}, {2, 2}, {1, 2}, {4, 5}, {1, 1}},
    {"kernel_mostly_outside", 2, 1, 1, 2, 3, {2, 2}, {5, 5}, {1, 1}, {3, 3}, {2, 1}},
    {"single_channel_wide", 2, 1, 1, 1, 40, {12, 12}, {5, 5}, {1, 1}, {0, 0}, {1, 1}},
    {"many_positions", 2, 1, 1, 16, 8, {50, 60}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"many_channels", 2, 1, 1, 70, 66, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"few_positions", 2, 1, 2, 8, 400, {4, 4}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"conv3d", 3, 2, 1, 3, 4, {5, 6, 7}, {2, 3, 3}, {1, 2, 1}, {1, 1, 0}, {1, 1, 2}},
    {"conv3d_depthwise", 3, 1, 3, 3, 3, {4, 5, 6}, {3, 3, 3}, {1, 1, 2}, {1, 0, 1}, {1, 1, 1}},
};

Convolution describe(const Case& t) {
  Convolution c{};
  c.dims = t.dims, c.batch = t.batch, c.groups = t.groups, c.in_channels = t.in_channels, c.out_channels = t.out_channels;
  for (int d = 0; d < t.dims; ++d) {
    c.in[d] = t.in[d], c.kernel[d] = t.kernel[d], c.stride[d] = t.stride[d], c.padding[d] = t.padding[d];
    c.dilation[d] = t.dilation[d];
    c.out[d] = (t.in[d] + 2 * t.padding[d] - t.dilation[d] * (t.kernel[d] - 1) - 1) / t.stride[d] + 1;
  }
  return c;
}

int64_t size(const int64_t* s, int dims) {
  int64_t n = 1;
  for (int d = 0; d < dims; ++d) n *= s[d];
  return n;
}

// Calls f(y index, x index, w index) for every multiplication of the convolution.
template <class F>
void for_each_product(const Convolution& c, F f) {
  const int64_t positions = size(c.out, c.dims), taps = size(c.kernel, c.dims), plane = size(c.in, c.dims);
  const int64_t gi = c.in_channels / c.groups, go = c.out_channels / c.groups;
  for (int64_t b = 0; b < c.batch; ++b)
    for (int64_t o = 0; o < c.out_channels; ++o)
      for (int64_t p = 0; p < positions; ++p)
        for (int64_t i = 0; i < gi; ++i)
          for (int64_t t = 0; t < taps; ++t) {
            int64_t at = 0, scale = 1, pr = p, tr = t;
            bool inside = true;
            for (int d = c.dims - 1; d >= 0; --d) {
              const int64_t x = pr % c.out[d] * c.stride[d] - c.padding[d] + tr % c.kernel[d] * c.dilation[d];
              inside = inside && x >= 0 && x < c.in[d];
              at += x * scale;
              scale *= c.in[d];
              pr /= c.out[d];
              tr /= c.kernel[d];
            }
            if (inside)
              f((b * c.out_channels + o) * positions + p, (b * c.in_channels + o / go * gi + i) * plane + at,
                (o * gi + i) * taps + t);
          }
}

struct Free {
  void operator()(void* p) const { std::free(p); }
};

template <class T>
class KernelsConvolution : public ::testing::Test {
 protected:
  std::mt19937 rng{3};
  std::vector<T> random(int64_t n) {
    std::uniform_real_distribution<double> u(-1, 1);
    std::vector<T> v(n);
    for (auto& x : v) x = static_cast<T>(u(rng));
    return v;
  }
  void expect_near(const std::vector<T>& got, const std::vector<double>& want, int64_t terms) {
    const double tolerance = (sizeof(T) == 4 ? 1e-6 : 1e-14) * (4 + std::sqrt(double(terms)));
    for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(double(got[i]), want[i], tolerance) << i;
  }
  // Runs f(begin, end, scratch) whole and then in single tasks, in reverse; both must leave the
  // same bits in out.
  template <class F>
  void run(std::vector<T>& out, int64_t tasks, int64_t bytes, F f) {
    std::unique_ptr<void, Free> scratch(std::aligned_alloc(64, static_cast<size_t>((bytes + 127) / 64 * 64)));
    std::fill(out.begin(), out.end(), T(NAN));
    f(0, tasks, scratch.get());
    const std::vector<T> whole = out;
    std::fill(out.begin(), out.end(), T(NAN));
    for (int64_t t = tasks - 1; t >= 0; --t) f(t, t + 1, scratch.get());
    for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(std::memcmp(&whole[i], &out[i], sizeof(T)), 0) << i;
  }

  struct Results {
    std::vector<T> y, gx, gw;
  };
  // The convolution of x and w, and what the gradient gy of its result is for x and for w.
  Results forward_and_gradients(const Convolution& c, const std::vector<T>& x, const std::vector<T>& w, const std::vector<T>& gy,
                                const T* bias, const T* in_bias) {
    Results r{std::vector<T>(gy.size()), std::vector<T>(x.size()), std::vector<T>(w.size())};
    run(r.y, convolution_forward_tasks(c), convolution_forward_scratch_bytes<T>(c),
        [&](int64_t b, int64_t e, void* s) { convolution_forward<T>(c, x.data(), w.data(), bias, r.y.data(), b, e, s); });
    run(r.gx, convolution_backward_input_tasks(c), convolution_backward_input_scratch_bytes<T>(c),
        [&](int64_t b, int64_t e, void* s) {
          convolution_backward_input<T>(c, gy.data(), w.data(), in_bias, r.gx.data(), b, e, s);
        });
    run(r.gw, convolution_backward_weight_tasks(c), convolution_backward_weight_scratch_bytes<T>(c),
        [&](int64_t b, int64_t e, void* s) { convolution_backward_weight<T>(c, gy.data(), x.data(), r.gw.data(), b, e, s); });
    return r;
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(KernelsConvolution, Types);

TYPED_TEST(KernelsConvolution, ForwardAndGradientsMatchTheDefinition) {
  for (const Case& t : kCases) {
    SCOPED_TRACE(t.name);
    const Convolution c = describe(t);
    const int64_t positions = size(c.out, c.dims), taps = size(c.kernel, c.dims), plane = size(c.in, c.dims);
    const int64_t depth = c.in_channels / c.groups * taps;
    const auto x = this->random(c.batch * c.in_channels * plane), w = this->random(c.out_channels * depth);
    const auto gy = this->random(c.batch * c.out_channels * positions);
    const auto bias = this->random(c.out_channels), in_bias = this->random(c.in_channels);
    for (const bool with_bias : {false, true}) {
      const auto [y, gx, gw] =
          this->forward_and_gradients(c, x, w, gy, with_bias ? bias.data() : nullptr, with_bias ? in_bias.data() : nullptr);
      std::vector<double> want_y(y.size()), want_gx(gx.size()), want_gw(gw.size());
      for (size_t i = 0; with_bias && i < y.size(); ++i) want_y[i] = bias[i / positions % c.out_channels];
      for (size_t i = 0; with_bias && i < gx.size(); ++i) want_gx[i] = in_bias[i / plane % c.in_channels];
      for_each_product(c, [&](int64_t at_y, int64_t at_x, int64_t at_w) {
        want_y[at_y] += double(x[at_x]) * w[at_w];
        want_gx[at_x] += double(gy[at_y]) * w[at_w];
        want_gw[at_w] += double(gy[at_y]) * x[at_x];
      });
      this->expect_near(y, want_y, depth);
      this->expect_near(gx, want_gx, c.out_channels * taps);
      this->expect_near(gw, want_gw, c.batch * positions);
    }
  }
}

// Padding is zeros that are multiplied: an infinite weight over them is NaN (as PyTorch computes),
// whether a convolution goes through columns or directly. The gradient of the input has no padding
// to multiply.
TYPED_TEST(KernelsConvolution, InfinitiesMeetThePadding) {
  using T = TypeParam;
  for (const Case& t : kCases) {
    SCOPED_TRACE(t.name);
    const Convolution c = describe(t);
    const int64_t positions = size(c.out, c.dims), taps = size(c.kernel, c.dims), plane = size(c.in, c.dims);
    const int64_t depth = c.in_channels / c.groups * taps;
    if (positions == 0) continue;
    const std::vector<T> x(c.batch * c.in_channels * plane, T(1));
    std::vector<T> w(c.out_channels * depth, T(1)), gy(c.batch * c.out_channels * positions, T(1));
    w[0] = gy[0] = T(INFINITY);  // tap 0 of output channel 0; position 0 of it in the first image
    const auto [y, gx, gw] = this->forward_and_gradients(c, x, w, gy, nullptr, nullptr);
    std::vector<char> inside_y(y.size()), inside_w(w.size());
    for_each_product(c, [&](int64_t at_y, int64_t, int64_t at_w) {
      if (at_w == 0) inside_y[at_y] = 1;
      if (at_y == 0) inside_w[at_w] = 1;
    });
    for (size_t i = 0; i < y.size(); ++i) {
      const bool special = static_cast<int64_t>(i) / positions % c.out_channels == 0;
      ASSERT_EQ(std::isnan(y[i]), special && !inside_y[i]) << "y " << i;
      ASSERT_EQ(std::isinf(y[i]), special && inside_y[i]) << "y " << i;
    }
    for (size_t i = 0; i < w.size(); ++i) {
      const bool special = static_cast<int64_t>(i) < depth;
      ASSERT_EQ(std::isnan(gw[i]), special && !inside_w[i]) << "gw " << i;
      ASSERT_EQ(std::isinf(gw[i]), special && inside_w[i]) << "gw " << i;
    }
    for (size_t i = 0; i < gx.size(); ++i) ASSERT_FALSE(std::isnan(gx[i])) << "gx " << i;
  }
}

TYPED_TEST(KernelsConvolution, GatherAndScatterAreTransposes) {
  using T = TypeParam;
  for (const Case& t : kCases) {
    SCOPED_TRACE(t.name);
    const Convolution c = describe(t);
    const int64_t positions = size(c.out, c.dims), taps = size(c.kernel, c.dims), plane = size(c.in, c.dims);
    const auto x = this->random(2 * plane), columns = this->random(2 * taps * positions);
    std::vector<T> gathered(columns.size()), scattered(x.size());
    gather_columns<T>(c, x.data(), 2, 0, positions, gathered.data());
    scatter_columns<T>(c, columns.data(), 2, scattered.data());
    double left = 0, right = 0;
    for (size_t i = 0; i < columns.size(); ++i) left += double(columns[i]) * gathered[i];
    for (size_t i = 0; i < x.size(); ++i) right += double(x[i]) * scattered[i];
    EXPECT_NEAR(left, right, sizeof(T) == 4 ? 1e-3 : 1e-9);
    const int64_t p0 = positions / 3, p1 = positions - positions / 4;
    if (p0 == p1) continue;
    std::vector<T> part(2 * taps * (p1 - p0));
    gather_columns<T>(c, x.data(), 2, p0, p1, part.data());
    for (int64_t r = 0; r < 2 * taps; ++r)
      for (int64_t p = p0; p < p1; ++p) ASSERT_EQ(part[r * (p1 - p0) + p - p0], gathered[r * positions + p]);
  }
}

TEST(KernelsConvolutionEmpty, NoOutputPositionsOrImages) {
  Convolution c{2, 0, 1, 3, 4, {5, 5}, {3, 3}, {3, 3}, {1, 1}, {0, 0}, {1, 1}};
  EXPECT_EQ(convolution_forward_tasks(c), 0);
  std::vector<float> gw(4 * 27, 1), scratch(1 << 20);
  convolution_backward_weight<float>(c, nullptr, nullptr, gw.data(), 0, convolution_backward_weight_tasks(c), scratch.data());
  EXPECT_EQ(gw, std::vector<float>(4 * 27, 0));
}

}  // namespace
}  // namespace ingot::kernels
