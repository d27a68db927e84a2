// Random ops: one seed gives the same numbers whatever the number of threads, fakes never consume
// numbers, and the distributions have their moments.
#include "tensor/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "ingot/ingot.hpp"
#include "kernels/philox.hpp"
#include "op/call.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

struct Moments {
  double mean = 0, variance = 0, low = 0, high = 0;
};
Moments moments(const Tensor& t) {
  const std::vector<double> x = t.to_vector<double>();
  Moments m;
  m.low = *std::min_element(x.begin(), x.end());
  m.high = *std::max_element(x.begin(), x.end());
  for (double v : x) m.mean += v;
  m.mean /= static_cast<double>(x.size());
  for (double v : x) m.variance += (v - m.mean) * (v - m.mean);
  m.variance /= static_cast<double>(x.size());
  return m;
}
Tensor empty_of(DType t, Int n = 100000) { return empty({n}, {.dtype = t}); }

TEST(Random, SameSeedSameNumbers) {
  manual_seed(7);
  const auto a = rand({1000}).to_vector<float>(), b = rand({1000}).to_vector<float>();
  manual_seed(7);
  EXPECT_EQ(rand({1000}).to_vector<float>(), a);
  EXPECT_EQ(rand({1000}).to_vector<float>(), b);
  EXPECT_NE(a, b);
  manual_seed(8);
  EXPECT_NE(rand({1000}).to_vector<float>(), a);
}

TEST(Random, ElementsAreThoseOfTheDraw) {
  manual_seed(123);
  rand({3});
  const auto x = rand({5, 7}).to_vector<float>();
  for (std::size_t i = 0; i < x.size(); i++) EXPECT_EQ(x[i], kernels::uniform_float(123, 1, i)) << i;
  const auto z = randn({9}, {.dtype = float64}).to_vector<double>();
  for (std::size_t i = 0; i < z.size(); i++) EXPECT_EQ(z[i], kernels::normal_double(123, 2, i)) << i;
}

TEST(Random, ThreadCountDoesNotMatter) {
  const int threads = num_threads();
  auto all = [] {
    manual_seed(5);
    std::vector<double> out;
    for (const Tensor& t : {randn({70000}), rand({70001}), randint(-5, 50, {70000}).to(float64), randperm(9000).to(float64),
                            aten<"exponential">(empty_of(float32)), aten<"poisson">(full({60000}, 20.0)),
                            aten<"bernoulli.p">(empty_of(float32), 0.3)}) {
      const auto x = t.to_vector<double>();
      out.insert(out.end(), x.begin(), x.end());
    }
    return out;
  };
  set_num_threads(1);
  const auto one = all();
  set_num_threads(3);
  const auto three = all();
  set_num_threads(threads);
  EXPECT_EQ(one, three);
}

TEST(Random, LayoutDoesNotMatter) {
  const Tensor t = empty({4, 6}).t();
  manual_seed(1);
  const Tensor like = aten<"rand_like">(t);
  EXPECT_EQ(like.strides().values(), (std::vector<int64_t>{1, 6}));
  manual_seed(1);
  EXPECT_EQ(like.to_vector<float>(), rand({6, 4}).to_vector<float>());
}

TEST(Random, StateCanBeReadAndSet) {
  manual_seed(99);
  rand({2});
  const Draw state = default_generator()->state();
  EXPECT_EQ(state, (Draw{99, 1}));
  const auto a = randn({10}).to_vector<float>();
  default_generator()->set_state(state);
  EXPECT_EQ(randn({10}).to_vector<float>(), a);
}

TEST(Random, OwnGenerator) {
  const Ref<Generator> g = make_ref<Generator>(42);
  manual_seed(1);
  const auto a = aten<"rand.generator">(Shape{8}, g).to_vector<float>();
  EXPECT_EQ(default_generator()->state().offset, 0u);
  EXPECT_EQ(g->state().offset, 1u);
  manual_seed(42);
  EXPECT_EQ(rand({8}).to_vector<float>(), a);
}

TEST(Random, FakesTakeNoNumbers) {
  manual_seed(3);
  const Tensor fake = make_tensor(Geometry::contiguous({4, 4}, float32), {}, true);
  aten<"rand_like">(fake);
  aten<"uniform_">(fake, -1.0, 1.0);
  {
    Scoped<bool> on(thread_state().fake_factories, true);
    EXPECT_TRUE(rand({2, 3})->is_fake());
    EXPECT_TRUE(randperm(5)->is_fake());
  }
  EXPECT_EQ(default_generator()->state().offset, 0u);
}

TEST(Random, InPlace) {
  manual_seed(11);
  Tensor x = zeros({100000});
  aten_value<"uniform_">(x, 2.0, 4.0);
  Moments m = moments(x);
  EXPECT_NEAR(m.mean, 3, 0.01);
  EXPECT_GE(m.low, 2);
  EXPECT_LT(m.high, 4);
  aten_value<"normal_">(x, 5.0, 2.0);
  m = moments(x);
  EXPECT_NEAR(m.mean, 5, 0.03);
  EXPECT_NEAR(m.variance, 4, 0.06);
  aten_value<"bernoulli_.float">(x, 0.25);
  EXPECT_NEAR(moments(x).mean, 0.25, 0.006);
  aten_value<"random_.to">(x, 10);
  m = moments(x);
  EXPECT_EQ(m.low, 0);
  EXPECT_EQ(m.high, 9);
  EXPECT_NEAR(m.mean, 4.5, 0.05);
  aten_value<"exponential_">(x, 2.0);
  EXPECT_NEAR(moments(x).mean, 0.5, 0.01);
  EXPECT_EQ(default_generator()->state().offset, 5u);
}

TEST(Random, Moments) {
  manual_seed(2024);
  Moments m = moments(rand({200000}));
  EXPECT_NEAR(m.mean, 0.5, 0.003);
  EXPECT_NEAR(m.variance, 1.0 / 12, 0.001);
  EXPECT_GE(m.low, 0);
  EXPECT_LT(m.high, 1);
  m = moments(randn({200000}, {.dtype = float64}));
  EXPECT_NEAR(m.mean, 0, 0.01);
  EXPECT_NEAR(m.variance, 1, 0.015);
  m = moments(aten<"geometric">(empty_of(int64), 0.2));
  EXPECT_NEAR(m.mean, 5, 0.06);
  EXPECT_EQ(m.low, 1);
  m = moments(aten<"log_normal">(empty_of(float64), 0.0, 0.5));
  EXPECT_NEAR(m.mean, std::exp(0.125), 0.01);
  for (double rate : {0.0, 0.7, 4.0, 30.0, 1000.0}) {
    m = moments(aten<"poisson">(full({50000}, rate, {.dtype = float64})));
    EXPECT_NEAR(m.mean, rate, 0.02 * std::sqrt(rate) + 1e-12) << rate;
    EXPECT_NEAR(m.variance, rate, 0.03 * rate) << rate;
  }
  for (double p : {0.1, 0.5, 0.9})
    for (double n : {5.0, 40.0, 500.0}) {
      m = moments(aten<"binomial">(full({50000}, n), full({50000}, p)));
      EXPECT_NEAR(m.mean, n * p, 0.03 * std::sqrt(n * p * (1 - p))) << n << " " << p;
      EXPECT_NEAR(m.variance, n * p * (1 - p), 0.04 * n * p * (1 - p)) << n << " " << p;
    }
}

TEST(Random, CauchyMedian) {
  manual_seed(4);
  auto x = aten<"cauchy">(empty_of(float32), 3.0, 2.0).to_vector<double>();
  std::nth_element(x.begin(), x.begin() + 50000, x.end());
  EXPECT_NEAR(x[50000], 3, 0.05);
}

TEST(Random, ReducedTypesStayBelowOne) {
  manual_seed(6);
  for (DType t : {float16, bfloat16}) {
    const Moments m = moments(rand({300000}, {.dtype = t}));
    EXPECT_LT(m.high, 1);
    EXPECT_NEAR(m.mean, 0.5, 0.005);
  }
}

TEST(Random, ComplexNormalHasUnitVariance) {
  manual_seed(6);
  const Tensor z = randn({100000}, {.dtype = complex64});
  const float* p = z.data<float>();
  double sum = 0;
  for (int64_t i = 0; i < 200000; i++) sum += static_cast<double>(p[i]) * p[i];
  EXPECT_NEAR(sum / 100000, 1, 0.02);
}

TEST(Random, Integers) {
  manual_seed(12);
  const Moments m = moments(randint(-3, 4, {70000}));
  EXPECT_EQ(m.low, -3);
  EXPECT_EQ(m.high, 3);
  EXPECT_NEAR(m.mean, 0, 0.03);
  EXPECT_EQ(moments(aten<"random">(empty_of(uint8))).high, 255);
  EXPECT_EQ(moments(aten<"random">(empty_of(boolean))).high, 1);
  auto p = randperm(1000).to_vector<int64_t>();
  EXPECT_FALSE(std::is_sorted(p.begin(), p.end()));
  std::sort(p.begin(), p.end());
  for (int64_t i = 0; i < 1000; i++) EXPECT_EQ(p[static_cast<std::size_t>(i)], i);
}

TEST(Random, Multinomial) {
  manual_seed(13);
  const Tensor w = tensor({0, 1, 3, 0, 6}, float64);
  std::vector<double> count(5);
  for (int64_t k : aten<"multinomial">(w, 100000, true).to_vector<int64_t>()) count[static_cast<std::size_t>(k)]++;
  EXPECT_EQ(count[0] + count[3], 0);
  EXPECT_NEAR(count[1] / 1e5, 0.1, 0.005);
  EXPECT_NEAR(count[4] / 1e5, 0.6, 0.01);
  // Without replacement: the first choice has the given probabilities, and no row repeats a
  // category.
  const Tensor many = aten<"multinomial">(aten<"expand">(w, Shape{20000, 5}), 3);
  const auto x = many.to_vector<int64_t>();
  double first = 0;
  for (std::size_t r = 0; r < 20000; r++) {
    first += x[3 * r] == 4;
    EXPECT_TRUE(x[3 * r] != x[3 * r + 1] && x[3 * r + 1] != x[3 * r + 2] && x[3 * r] != x[3 * r + 2]);
    for (int k = 0; k < 3; k++) EXPECT_TRUE(x[3 * r + k] != 0 && x[3 * r + k] != 3);
  }
  EXPECT_NEAR(first / 20000, 0.6, 0.015);
}

TEST(Random, BadArguments) {
  EXPECT_THROW(randint(5, 5, {2}), UserError);
  EXPECT_THROW(randint(0, 1000, {2}, {.dtype = uint8}), UserError);
  EXPECT_THROW(rand({2}, {.dtype = int64}), UserError);
  EXPECT_THROW(rand({-1}), UserError);
  EXPECT_THROW(aten<"bernoulli.p">(zeros({2}), 1.5), UserError);
  EXPECT_THROW(aten<"bernoulli">(full({2}, 2.0)), UserError);
  EXPECT_THROW(aten<"exponential">(zeros({2}), 0.0), UserError);
  EXPECT_THROW(aten<"normal.Tensor_float">(zeros({2}), -1.0), UserError);
  EXPECT_THROW(aten<"poisson">(full({2}, -1.0)), UserError);
  EXPECT_THROW(aten<"multinomial">(zeros({3}), 1), UserError);
  EXPECT_THROW(aten<"multinomial">(ones({3}), 4), UserError);
  EXPECT_THROW(randperm(-1), UserError);
}

}  // namespace
}  // namespace ingot
