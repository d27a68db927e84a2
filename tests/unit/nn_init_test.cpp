// Initial values: gains and fans in PyTorch's numbers, and what the distributions are.
#include <gtest/gtest.h>

#include <cmath>

#include "ingot/nn.hpp"
#include "support/error_text.hpp"

namespace ingot {
namespace {

using namespace nn::init;

double deviation(const Tensor& t) { return std::sqrt(var(t.detach().flatten(), {0}).item_double()); }
// Uniform in [-bound, bound]: within it, near to it, and as wide as such numbers are.
void expect_uniform(const Tensor& t, double bound) {
  const double most = t.abs().max().item_double();
  EXPECT_LE(most, bound);
  EXPECT_GT(most, 0.99 * bound);
  EXPECT_NEAR(deviation(t), bound / std::sqrt(3.0), 0.03 * bound);
}

TEST(Init, GainsAndFansArePyTorchs) {
  EXPECT_EQ(calculate_gain(Nonlinearity::linear), 1);
  EXPECT_EQ(calculate_gain(Nonlinearity::sigmoid), 1);
  EXPECT_DOUBLE_EQ(calculate_gain(Nonlinearity::tanh), 1.6666666666666667);
  EXPECT_DOUBLE_EQ(calculate_gain(Nonlinearity::relu), 1.4142135623730951);
  EXPECT_DOUBLE_EQ(calculate_gain(Nonlinearity::leaky_relu), 1.4141428569978354);
  EXPECT_DOUBLE_EQ(calculate_gain(Nonlinearity::leaky_relu, 0.2), 1.3867504905630728);
  EXPECT_DOUBLE_EQ(calculate_gain(Nonlinearity::selu), 0.75);
  EXPECT_EQ(fan_in_and_fan_out(zeros({6, 4})), (std::pair<int64_t, int64_t>{4, 6}));
  EXPECT_EQ(fan_in_and_fan_out(zeros({6, 4, 3, 5})), (std::pair<int64_t, int64_t>{60, 90}));
  EXPECT_NE(error_of([] { xavier_uniform_(zeros({3})); }).find("fewer than 2 dimensions"), std::string::npos);
}

TEST(Init, Distributions) {
  manual_seed(0);
  const auto weight = [] { return zeros({80, 50, 3}).requires_grad_(); };  // 150 inputs, 240 outputs
  expect_uniform(xavier_uniform_(weight(), 2), 2 * std::sqrt(6.0 / 390));
  EXPECT_NEAR(deviation(xavier_normal_(weight(), 2)), 2 * std::sqrt(2.0 / 390), 3e-3);
  expect_uniform(kaiming_uniform_(weight()), std::sqrt(6.0 / 150));
  expect_uniform(kaiming_uniform_(weight(), {.a = std::sqrt(5.0)}), 1 / std::sqrt(150.0));
  expect_uniform(kaiming_uniform_(weight(), {.mode = Fan::out, .nonlinearity = Nonlinearity::tanh}), 5 / std::sqrt(3.0 * 240));
  EXPECT_NEAR(deviation(kaiming_normal_(weight(), {.nonlinearity = Nonlinearity::relu})), std::sqrt(2.0 / 150), 3e-3);
  const Tensor u = uniform_(weight(), 2, 4);
  EXPECT_TRUE(u.requires_grad() && u.is_leaf());
  EXPECT_NEAR(u.mean().item_double(), 3, 0.03);
  const Tensor n = normal_(weight(), 5, 0.1);
  EXPECT_NEAR(n.mean().item_double(), 5, 0.01);
  EXPECT_NEAR(deviation(n), 0.1, 3e-3);
  // A normal distribution cut at one deviation has 0.5396 of its width.
  const Tensor t = trunc_normal_(weight(), 1, 2, -1, 3);
  EXPECT_GE(amin(t).item_double(), -1);
  EXPECT_LE(amax(t).item_double(), 3);
  EXPECT_NEAR(t.mean().item_double(), 1, 0.05);
  EXPECT_NEAR(deviation(t), 2 * 0.5396, 0.02);
}

TEST(Init, ExactValues) {
  EXPECT_TRUE(equal(eye_(rand({2, 3})), eye(3).narrow(0, 0, 2)));
  EXPECT_TRUE(equal(constant_(zeros({2}), 0.5), full({2}, 0.5)));
  EXPECT_TRUE(equal(ones_(zeros({2})), ones({2})));
  EXPECT_TRUE(equal(zeros_(ones({2})), zeros({2})));
  // A convolution by it keeps the channels, of each group the first.
  const Tensor x = randn({1, 2, 5, 5});
  EXPECT_TRUE(equal(conv2d(x, dirac_(rand({2, 2, 3, 3})), {}, {1, 1}, {1, 1}), x));
  const Tensor grouped = dirac_(rand({4, 1, 3}), 2);
  EXPECT_EQ(grouped.sum({1, 2}).to_vector<double>(), (std::vector<double>{1, 0, 1, 0}));
  EXPECT_EQ(grouped[2][0][1].item_double(), 1);
  EXPECT_NE(error_of([] { dirac_(rand({3, 2, 3}), 2); }).find("divisible by groups"), std::string::npos);
}

TEST(Init, OrthogonalRowsOrColumns) {
  manual_seed(1);
  for (const Shape& size : {Shape{6, 4}, Shape{4, 6}, Shape{4, 3, 2}}) {
    const Tensor q = orthogonal_(zeros(size).requires_grad_(), 2).detach().reshape({size[0], -1});
    const Tensor gram = q.size(0).value() < q.size(1).value() ? q.mm(q.t()) : q.t().mm(q);
    EXPECT_TRUE(allclose(gram, eye(4) * 4, 1e-4, 1e-4)) << gram.to_string();
  }
}

TEST(Init, SparseColumnsHaveTheirZeros) {
  const Tensor t = sparse_(zeros({10, 7}), 0.25);
  const Tensor zeros_of_column = (t == 0).to(float32).sum(Shape{0});
  EXPECT_TRUE(equal(zeros_of_column, full({7}, 3.0))) << zeros_of_column.to_string();
}

}  // namespace
}  // namespace ingot
