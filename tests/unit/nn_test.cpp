// Modules: parameter names, shapes, modes, state files, and results against the same computation
// written with ops.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "ingot/nn.hpp"
#include "ingot/optim.hpp"
#include "support/test_folder.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

std::string names(const nn::Module& m) {
  std::string s;
  for (const auto& [name, t] : m.named_parameters()) s += name + to_text(t.sizes()) + " ";
  return s;
}
void expect_close(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(to_text(a.sizes()), to_text(b.sizes()));
  EXPECT_TRUE(allclose(a, b, 1e-5, 1e-6)) << a.to_string() << "\n" << b.to_string();
}
std::string size_of_result(const Tensor& t) { return to_text(t.sizes()); }

TEST(Modules, ParametersHavePyTorchsNamesAndShapes) {
  EXPECT_EQ(names(nn::Linear(3, 2)), "weight[2, 3] bias[2] ");
  EXPECT_EQ(names(nn::Linear(3, 2, false)), "weight[2, 3] ");
  EXPECT_EQ(names(nn::Bilinear(3, 4, 2)), "weight[2, 3, 4] bias[2] ");
  EXPECT_EQ(names(nn::Conv2d(4, 6, {3}, {.groups = 2})), "weight[6, 2, 3, 3] bias[6] ");
  EXPECT_EQ(names(nn::ConvTranspose2d(4, 6, {3}, {.groups = 2})), "weight[4, 3, 3, 3] bias[6] ");
  EXPECT_EQ(
      names(nn::LSTM(3, 2, {.num_layers = 2, .bidirectional = true})),
      "weight_ih_l0[8, 3] weight_hh_l0[8, 2] bias_ih_l0[8] bias_hh_l0[8] weight_ih_l0_reverse[8, 3] weight_hh_l0_reverse[8, 2] "
      "bias_ih_l0_reverse[8] bias_hh_l0_reverse[8] weight_ih_l1[8, 4] weight_hh_l1[8, 2] bias_ih_l1[8] bias_hh_l1[8] "
      "weight_ih_l1_reverse[8, 4] weight_hh_l1_reverse[8, 2] bias_ih_l1_reverse[8] bias_hh_l1_reverse[8] ");
  EXPECT_EQ(
      names(nn::TransformerEncoderLayer(4, 2, {.dim_feedforward = 8})),
      "self_attn.in_proj_weight[12, 4] self_attn.in_proj_bias[12] self_attn.out_proj.weight[4, 4] self_attn.out_proj.bias[4] "
      "linear1.weight[8, 4] linear1.bias[8] linear2.weight[4, 8] linear2.bias[4] norm1.weight[4] norm1.bias[4] norm2.weight[4] norm2.bias[4] ");
  nn::Sequential s{nn::make<nn::Linear>(2, 3), nn::make<nn::ReLU>(), nn::make<nn::Linear>(3, 1)};
  EXPECT_EQ(names(s), "0.weight[3, 2] 0.bias[3] 2.weight[1, 3] 2.bias[1] ");
}

TEST(Modules, ResultsHaveTheRightShapes) {
  manual_seed(0);
  EXPECT_EQ(size_of_result(nn::Conv1d(2, 3, {3}, {.padding = {1}})(randn({1, 2, 8}))), "[1, 3, 8]");
  EXPECT_EQ(size_of_result(nn::Conv2d(2, 3, {3}, {.stride = {2}})(randn({1, 2, 9, 9}))), "[1, 3, 4, 4]");
  EXPECT_EQ(size_of_result(nn::Conv3d(1, 2, {2})(randn({1, 1, 4, 4, 4}))), "[1, 2, 3, 3, 3]");
  EXPECT_EQ(size_of_result(nn::ConvTranspose1d(2, 3, {3}, {.stride = {2}})(randn({1, 2, 4}))), "[1, 3, 9]");
  EXPECT_EQ(size_of_result(nn::ConvTranspose2d(2, 3, {3})(randn({1, 2, 4, 4}))), "[1, 3, 6, 6]");
  EXPECT_EQ(size_of_result(nn::MaxPool1d({2})(randn({1, 2, 8}))), "[1, 2, 4]");
  EXPECT_EQ(size_of_result(nn::MaxPool2d({2})(randn({1, 2, 8, 8}))), "[1, 2, 4, 4]");
  EXPECT_EQ(size_of_result(nn::MaxPool3d({2})(randn({1, 2, 4, 4, 4}))), "[1, 2, 2, 2, 2]");
  EXPECT_EQ(size_of_result(nn::AvgPool1d({2})(randn({1, 2, 8}))), "[1, 2, 4]");
  EXPECT_EQ(size_of_result(nn::AvgPool2d({2})(randn({1, 2, 8, 8}))), "[1, 2, 4, 4]");
  EXPECT_EQ(size_of_result(nn::AvgPool3d({2})(randn({1, 2, 4, 4, 4}))), "[1, 2, 2, 2, 2]");
  EXPECT_EQ(size_of_result(nn::AdaptiveAvgPool2d({1})(randn({1, 2, 8, 8}))), "[1, 2, 1, 1]");
  EXPECT_EQ(size_of_result(nn::AdaptiveMaxPool2d({2, 3})(randn({1, 2, 8, 8}))), "[1, 2, 2, 3]");
  EXPECT_EQ(size_of_result(nn::Bilinear(3, 4, 2)(randn({5, 3}), randn({5, 4}))), "[5, 2]");
  EXPECT_EQ(size_of_result(nn::GroupNorm(2, 4)(randn({2, 4, 3}))), "[2, 4, 3]");
  EXPECT_EQ(size_of_result(nn::EmbeddingBag(10, 3)(randint(0, 10, {2, 4}))), "[2, 3]");
  nn::LSTM lstm(3, 2, {.num_layers = 2, .batch_first = true, .bidirectional = true});
  const auto [y, h, c] = lstm(randn({5, 7, 3}));
  EXPECT_EQ(size_of_result(y) + size_of_result(h) + size_of_result(c), "[5, 7, 4][4, 5, 2][4, 5, 2]");
  const auto [gy, gh] = nn::GRU(3, 2)(randn({7, 3}));
  EXPECT_EQ(size_of_result(gy) + size_of_result(gh), "[7, 2][1, 2]");
  EXPECT_EQ(size_of_result(nn::TransformerEncoderLayer(4, 2, {.dim_feedforward = 8, .batch_first = true})(randn({2, 5, 4}))),
            "[2, 5, 4]");
}

// A list is a size, numbers side by side are arguments.
TEST(Modules, BracesAroundSizes) {
  const Tensor x = randn({1, 2, 9, 9});
  EXPECT_EQ(size_of_result(nn::MaxPool2d{3, 2}(x)), "[1, 2, 4, 4]");
  EXPECT_EQ(size_of_result(nn::MaxPool2d{{3}, {2}, {1}}(x)), "[1, 2, 5, 5]");
  EXPECT_EQ(size_of_result(nn::MaxPool2d({3, 2})(x)), "[1, 2, 3, 4]");
  EXPECT_EQ(size_of_result(nn::MaxPool2d(2, 2, 0, {.ceil_mode = true})(x)), "[1, 2, 5, 5]");
  EXPECT_EQ(size_of_result(nn::Conv2d(2, 8, 3)(x)), "[1, 8, 7, 7]");
  EXPECT_EQ(size_of_result(nn::Conv2d(2, 8, {3, 5}, {.padding = "same"})(x)), "[1, 8, 9, 9]");
  EXPECT_EQ(names(nn::LayerNorm(4)), "weight[4] bias[4] ");
  EXPECT_EQ(names(nn::LayerNorm({3, 4})), "weight[3, 4] bias[3, 4] ");
}

TEST(Modules, NormsNormalise) {
  manual_seed(1);
  const Tensor x = randn({64, 3, 5, 5}) * 3 + 2;
  nn::BatchNorm2d bn(3);
  const Tensor y = bn(x);
  expect_close(mean(y, {0, 2, 3}), zeros({3}));
  EXPECT_TRUE(allclose(var(y, {0, 2, 3}, 0), ones({3}), 1e-3, 1e-3));
  EXPECT_EQ(bn.num_batches_tracked.item_int(), 1);
  expect_close(bn.running_mean, mean(x, {0, 2, 3}).detach() * 0.1);
  expect_close(bn.running_var, var(x, {0, 2, 3}).detach() * 0.1 + 0.9);
  bn.eval();
  const Tensor z = bn(x);  // by the running statistics
  expect_close(z, (x - bn.running_mean.view({1, 3, 1, 1})) * rsqrt(bn.running_var.view({1, 3, 1, 1}) + 1e-5));
  EXPECT_EQ(bn.num_batches_tracked.item_int(), 1);
  const Tensor r = randn({4, 8});
  expect_close(nn::RMSNorm({8}, 1e-6)(r), r * rsqrt(mean(r * r, {-1}, true) + 1e-6));
  expect_close(nn::LayerNorm({8})(r), (r - mean(r, {-1}, true)) * rsqrt(var(r, {-1}, 0, true) + 1e-5));
}

TEST(Modules, AttentionIsTheFormula) {
  manual_seed(2);
  nn::MultiheadAttention a(8, 2, 0, true, true);
  const Tensor x = randn({3, 5, 8});
  const Tensor qkv = linear(x, a.in_proj_weight, a.in_proj_bias).view({3, 5, 3, 2, 4}).permute({2, 0, 3, 1, 4});
  const Tensor p = softmax(qkv[0].matmul(qkv[1].transpose(-2, -1)) / 2.0, -1);
  const Tensor want = a.out_proj(p.matmul(qkv[2]).transpose(1, 2).reshape({3, 5, 8}));
  expect_close(a(x, x, x), want);
  const Tensor hidden = triu(ones({5, 5}), 1).to(boolean);
  expect_close(a(x, x, x, hidden), a(x, x, x, {}, true));
}

TEST(Modules, TrainAndEvalReachEveryChild) {
  nn::Sequential s{nn::make<nn::Linear>(4, 4), nn::make<nn::Dropout>(0.5)};
  const Tensor x = ones({1000, 4});
  EXPECT_GT((s(x) == 0).to(float32).sum().item_double(), 1000);
  s.eval();
  EXPECT_FALSE(s.is_training());
  EXPECT_TRUE(equal(s(x), s(x)));
}

TEST(Modules, StateGoesThroughAFile) {
  const testing::TestFolder folder;
  const std::string path = folder.file("state.safetensors");
  manual_seed(3);
  nn::Sequential a{nn::make<nn::Linear>(4, 3), nn::make<nn::BatchNorm1d>(3)},
      b{nn::make<nn::Linear>(4, 3), nn::make<nn::BatchNorm1d>(3)};
  const Tensor x = randn({8, 4});
  a(x);  // moves the running statistics
  a.save(path);
  b.load(path);
  a.eval();
  b.eval();
  EXPECT_TRUE(equal(a(x), b(x)));
  a.to(float64);
  EXPECT_EQ(a(x.to(float64)).dtype(), float64);
}

TEST(Modules, PaddingRowOfAnEmbeddingGetsNoGradient) {
  nn::Embedding e(5, 3, 1);
  EXPECT_EQ(e.weight[1].abs().sum().item_double(), 0);
  e(tensor({1, 2, 2}, int64)).sum().backward();
  EXPECT_EQ(e.weight.grad()[1].sum().item_double(), 0);
  EXPECT_EQ(e.weight.grad()[2].sum().item_double(), 6);
}

TEST(Optim, AdamWTakesDecayFromTheParameterNotTheGradient) {
  Tensor p = tensor({2.0}, float64).requires_grad_();
  optim::AdamW adamw({p}, {.lr = 0.1, .weight_decay = 0.5});
  double x = 2, m = 0, v = 0;
  for (int i = 1; i <= 5; i++) {
    adamw.zero_grad();
    (p * p / 2).sum().backward();
    adamw.step();
    const double g = x;
    x *= 1 - 0.1 * 0.5;
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    x -= 0.1 / (1 - std::pow(0.9, i)) * m / (std::sqrt(v / (1 - std::pow(0.999, i))) + 1e-8);
    EXPECT_NEAR(p.item_double(), x, 1e-9);
  }
}

TEST(Optim, NesterovAndAdamFollowTheirRules) {
  // One parameter with gradient g = p: the updates by hand.
  Tensor p = tensor({1.0}, float64).requires_grad_();
  optim::SGD sgd({p}, {.lr = 0.1, .momentum = 0.9, .nesterov = true});
  double want = 1, m = 0;
  for (int i = 0; i < 5; i++) {
    sgd.zero_grad();
    (p * p / 2).sum().backward();
    sgd.step();
    m = i == 0 ? want : 0.9 * m + want;
    want -= 0.1 * (want + 0.9 * m);
    EXPECT_NEAR(p.item_double(), want, 1e-12);
  }
  Tensor q = tensor({1.0}, float64).requires_grad_();
  optim::Adam adam({q}, {.lr = 0.1, .weight_decay = 0.5, .amsgrad = true});
  double x = 1, m1 = 0, v = 0, top = 0;
  for (int i = 1; i <= 5; i++) {
    adam.zero_grad();
    (q * q / 2).sum().backward();
    adam.step();
    const double g = x + 0.5 * x;
    m1 = 0.9 * m1 + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    top = std::max(top, v);
    x -= 0.1 / (1 - std::pow(0.9, i)) * m1 / (std::sqrt(top) / std::sqrt(1 - std::pow(0.999, i)) + 1e-8);
    EXPECT_NEAR(q.item_double(), x, 1e-12);
  }
}

}  // namespace
}  // namespace ingot
