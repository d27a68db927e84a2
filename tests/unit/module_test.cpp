// Modules whose state is converted, loaded and dropped: parameters stay the tensors they are. Facts
// are PyTorch's.
#include <gtest/gtest.h>

#include "ingot/nn.hpp"
#include "ingot/optim.hpp"
#include "op/call.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"
#include "support/wrappers.hpp"
#include "tensor/random.hpp"

namespace ingot {
namespace {

class ModuleState : public NoLeaks {};

using Doubles = std::vector<double>;

struct Tied : nn::Layer {
  nn::Linear a{2, 2, false}, b{2, 2, false};
  Tied() {
    b.weight = a.weight;
    add("a", a);
    add("b", b);
  }
  Tensor forward(const Tensor& x) override { return b(relu(a(x))); }
};

TEST_F(ModuleState, AConvertedParameterIsTheSameTensor) {
  nn::Linear m(2, 1);
  m.weight.requires_grad_(false);
  const Tensor w = m.weight, b = m.bias;
  m.to(float64);
  EXPECT_TRUE(m.weight.is_same(w));
  EXPECT_TRUE(m.bias.is_same(b));
  EXPECT_EQ(w.dtype(), float64);
  EXPECT_FALSE(w.requires_grad()) << "frozen stays frozen";
  EXPECT_TRUE(b.requires_grad());
  EXPECT_TRUE(b.is_leaf());
  const void* data = w.data_ptr();
  m.to(float64);
  EXPECT_EQ(w.data_ptr(), data) << "nothing to convert";
  EXPECT_EQ(m(ones({1, 2}, {.dtype = float64})).dtype(), float64);
}

TEST_F(ModuleState, AGradientIsConvertedInPlaceToo) {
  nn::Linear m(2, 1);
  m(ones({1, 2})).sum().backward();
  const Tensor g = m.weight.grad();
  m.to(float64);
  EXPECT_TRUE(m.weight.grad().is_same(g));
  EXPECT_EQ(g.dtype(), float64);
  EXPECT_FALSE(g.requires_grad());
  m(ones({1, 2}, {.dtype = float64})).sum().backward();
  EXPECT_EQ(m.weight.grad().dtype(), float64);
  EXPECT_EQ(m.weight.grad().to_vector<double>(), (Doubles{2, 2}));
  m.zero_grad(false);
  EXPECT_EQ(g.to_vector<double>(), (Doubles{0, 0}));
  m.zero_grad();
  EXPECT_FALSE(m.weight.grad().defined());
}

TEST_F(ModuleState, GraphsMadeBeforeAConversionGoOn) {
  nn::Linear m(2, 1);
  const Tensor row = m.weight[0], y = m(ones({1, 2}));
  m.to(float64);
  EXPECT_EQ(row.dtype(), float32) << "a view keeps what it views";
  y.sum().backward();
  EXPECT_EQ(m.weight.grad().dtype(), float32) << "the graph's dtype, as in PyTorch";
  EXPECT_EQ(m.weight.grad().to_vector<double>(), (Doubles{1, 1}));
  m.zero_grad();
  const Tensor old = nn::mse_loss(m(ones({1, 2}, {.dtype = float64})), zeros({1, 1}, {.dtype = float64}));
  old.backward();
  EXPECT_EQ(m.weight.grad().dtype(), float64) << "a new graph knows the new dtype while the old one lives";
}

TEST_F(ModuleState, HooksStayOnAConvertedParameter) {
  nn::Linear m(2, 1);
  std::vector<DType> seen;
  register_hook(m.weight, [&](const Tensor& g) {
    seen.push_back(g.dtype());
    return Tensor();
  });
  int after = 0;
  register_post_accumulate_grad_hook(m.weight, [&](Tensor&) { after++; });
  m.to(float64);
  m(ones({1, 2}, {.dtype = float64})).sum().backward();
  EXPECT_EQ(seen, (std::vector<DType>{float64}));
  EXPECT_EQ(after, 1);
}

TEST_F(ModuleState, TiedParametersStayTied) {
  Tied m;
  m.to(float64);
  EXPECT_TRUE(m.a.weight.is_same(m.b.weight));
  EXPECT_EQ(m.a.weight.dtype(), float64);
  EXPECT_EQ(m.named_parameters().size(), 1u);
  EXPECT_EQ(m.named_parameters(true).size(), 2u);
}

TEST_F(ModuleState, LoadStateTakesEveryNameOfATiedParameter) {
  Tied m;
  const Tensor w = m.a.weight, values = tensor({1, 2, 3, 4}, Shape{2, 2}, float32);
  m.load_state({{"a.weight", values}});
  EXPECT_EQ(w.to_vector<double>(), (Doubles{1, 2, 3, 4}));
  m.load_state({{"a.weight", values}, {"b.weight", values * 2}});  // PyTorch's state has both; the last one wins there, too
  EXPECT_EQ(w.to_vector<double>(), (Doubles{2, 4, 6, 8}));
  EXPECT_TRUE(m.a.weight.is_same(w));
  EXPECT_NE(error_of([&] { m.load_state({}); }).find("missing: a.weight"), std::string::npos);
  EXPECT_NE(error_of([&] { m.load_state({{"a.weight", values}, {"b.weight", ones({3})}}); }).find("size mismatch for b.weight"),
            std::string::npos);
  EXPECT_NE(error_of([&] { m.load_state({{"a.weight", values}, {"c", values}}); }).find("unexpected: c"), std::string::npos);
}

TEST_F(ModuleState, LoadStateConvertsToTheParametersDtype) {
  nn::Linear m(2, 1);
  optim::SGD optimizer(m.parameters(), {.lr = 1});
  m.load_state({{"weight", tensor({1, 2}, Shape{1, 2}, float64)}, {"bias", zeros({1}, {.dtype = float64})}});
  EXPECT_EQ(m.weight.dtype(), float32);
  m(ones({1, 2})).sum().backward();
  optimizer.step();
  EXPECT_EQ(m.weight.to_vector<double>(), (Doubles{0, 1}));
}

TEST_F(ModuleState, BuffersAreConvertedIfFloating) {
  nn::BatchNorm1d m(2);
  const Tensor mean = m.running_mean, batches = m.num_batches_tracked;
  m.to(float64);
  EXPECT_FALSE(m.running_mean.is_same(mean));
  EXPECT_EQ(m.running_mean.dtype(), float64);
  EXPECT_EQ(mean.dtype(), float32);
  EXPECT_TRUE(m.num_batches_tracked.is_same(batches));
  EXPECT_EQ(batches.dtype(), int64);
}

TEST_F(ModuleState, ConvertOnlyToDtypesThatHaveGradients) {
  nn::Linear m(2, 1);
  EXPECT_EQ(error_of([&] { m.to(int64); }),
            "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=torch.int64");
  m.to(complex64);
  EXPECT_EQ(m.weight.dtype(), complex64);
  m.to(float32);
  EXPECT_EQ(m.weight.dtype(), float32);
}

TEST_F(ModuleState, AWrapperParameterIsConverted) {
  nn::Linear m(2, 1, false);
  m.weight = testing::two_tensor(ones({1, 2}), ones({1, 2}) * 2).requires_grad_();
  const Tensor w = m.weight;
  m.to(float64);
  EXPECT_TRUE(m.weight.is_same(w));
  EXPECT_EQ(w.dtype(), float64);
}

TEST_F(ModuleState, BatchNormWithoutAMomentumAveragesAllBatches) {
  nn::BatchNorm1d m(2, 1e-5, std::nullopt);
  m.to(float64);
  const Tensor x = tensor({1, 2, 3, 5, 4, 0}, Shape{3, 2}, float64);
  for (int k = 0; k < 3; k++) m(x * (k + 1));
  const auto near = [](const Tensor& got, const Doubles& want) {
    const Doubles g = got.to_vector<double>();
    for (std::size_t i = 0; i < want.size(); i++) EXPECT_NEAR(g[i], want[i], 1e-12) << i;
  };
  near(m.running_mean, {5.333333333333334, 4.666666666666667});
  near(m.running_var, {10.888888888888888, 29.555555555555557});
  EXPECT_EQ(m.num_batches_tracked.item_int(), 3);
  m.eval();
  near(m(x), {-1.3131977049190666, -0.49051138860672977, -0.7071064564948821, 0.06131392357584112, -0.4040608322827899,
              -0.858394930061777});
  EXPECT_EQ(m.num_batches_tracked.item_int(), 3);
  nn::BatchNorm1d untracked(2, 1e-5, std::nullopt, true, false);
  untracked.to(float64);
  near(untracked(x), {-1.3363019143128718, -0.16222122902678926, 0.2672603828625747, 1.2977698322143145, 1.069041531450298,
                      -1.135548603187525});
}

TEST_F(ModuleState, BatchNormNeedsMoreThanOneValueToTrain) {
  nn::BatchNorm1d m(2);
  EXPECT_EQ(error_of([&] { m(ones({1, 2})); }), "Expected more than 1 value per channel when training, got input size [1, 2]");
  m.eval();
  m(ones({1, 2}));
}

TEST_F(ModuleState, DropoutChecksItsProbability) {
  EXPECT_EQ(error_of([] { nn::Dropout(2); }), "dropout probability has to be between 0 and 1, but got 2");
  EXPECT_EQ(error_of([] { nn::Dropout(-0.5); }), "dropout probability has to be between 0 and 1, but got -0.5");
  EXPECT_EQ(nn::Dropout(1)(ones({3})).to_vector<double>(), (Doubles{0, 0, 0}));
  EXPECT_EQ(nn::Dropout(0)(ones({3})).to_vector<double>(), (Doubles{1, 1, 1}));
  nn::Dropout d(0.9);
  d.eval();
  EXPECT_EQ(d(ones({3})).to_vector<double>(), (Doubles{1, 1, 1}));
}
TEST_F(ModuleState, DropoutOfNothingIsItsArgument) {  // as in PyTorch: the same tensor, a leaf still
  Tensor x = ones({2, 0});
  x.requires_grad_();
  for (const char* name : {"dropout", "feature_dropout", "alpha_dropout"}) {
    const uint64_t before = default_generator()->state().offset;
    const Tensor y = call(op(name), {x, 0.5, true}).tensor();
    EXPECT_TRUE(y.is_leaf() && y.requires_grad()) << name;
    EXPECT_EQ(default_generator()->state().offset, before + 1) << name;  // as for any size: functions of open sizes draw
  }
}

}  // namespace
}  // namespace ingot
