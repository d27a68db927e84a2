// Optimizers: each option and its default, in PyTorch's numbers; what they refuse; parameters that
// change under them.
#include "ingot/optim.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "ingot/nn.hpp"
#include "ingot/sparse.hpp"
#include "op/call.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"

namespace ingot {
namespace {

class Optimizers : public NoLeaks {};

using Doubles = std::vector<double>;

void expect_near(const Tensor& got, const Doubles& want, double tolerance) {
  const Doubles g = got.to_vector<double>();
  ASSERT_EQ(g.size(), want.size());
  for (std::size_t i = 0; i < g.size(); i++) EXPECT_NEAR(g[i], want[i], tolerance) << "element " << i;
}

// Five steps of a loss that changes as it goes.
template <class O, class Options>
void expect_steps(const char* what, Options options, const Doubles& want) {
  SCOPED_TRACE(what);
  const Tensor p = tensor({1, -2, 0.5}, float64).requires_grad_();
  O optimizer({p}, options);
  for (int k = 0; k < 5; k++) {
    optimizer.zero_grad();
    (p * p * p * (1 - 0.6 * k) + p).sum().backward();
    optimizer.step();
  }
  expect_near(p, want, 1e-13 * 20);
}

TEST_F(Optimizers, SGDHasPyTorchsNumbers) {
  const auto sgd = [](const char* what, optim::SGDOptions o, const Doubles& want) { expect_steps<optim::SGD>(what, o, want); };
  sgd("defaults", {}, {0.997926798187329, -1.99270356614542, 0.495722930287613});
  sgd("lr", {.lr = 0.1}, {0.240375025883482, -0.583696809457047, -0.0816552282729782});
  sgd("momentum", {.lr = 0.1, .momentum = 0.9}, {-1.17300361178417, 13.5286257196988, -0.93433706064478});
  sgd("dampening", {.lr = 0.1, .momentum = 0.9, .dampening = 0.3}, {-1.13357189502472, 4.67844901777527, -0.790744802666174});
  sgd("weight_decay", {.lr = 0.1, .weight_decay = 0.2}, {0.171326541221198, -0.582075202960889, -0.104448913762742});
  sgd("nesterov", {.lr = 0.1, .momentum = 0.9, .nesterov = true}, {-0.620966657629741, 6.16557403075273, -0.71257043184906});
  sgd("maximize", {.lr = 0.1, .maximize = true}, {0.691610527447135, -0.37964429127957, 0.63085961877029});
  sgd("the default lr with momentum", {.momentum = 0.9}, {0.980532277608274, -2.03560629064201, 0.485264586765442});
  sgd("the default lr with decay", {.weight_decay = 0.5}, {0.995416516574176, -1.98777611367573, 0.494474757738727});
  sgd("several", {.lr = 0.1, .momentum = 0.5, .weight_decay = 0.2, .maximize = true},
      {0.26112684744791, 0.759869593069099, 0.596095503961265});
}

TEST_F(Optimizers, AdamHasPyTorchsNumbers) {
  const auto adam = [](const char* what, optim::AdamOptions o, const Doubles& want) { expect_steps<optim::Adam>(what, o, want); };
  adam("defaults", {}, {0.996811367067231, -2.0024218932954, 0.495504430649625});
  adam("lr", {.lr = 0.1}, {0.624113392931696, -2.22318986121384, 0.0215617089260186});
  adam("beta1", {.beta1 = 0.5}, {0.998275578138511, -2.00079423928603, 0.49630425778653});
  adam("beta2", {.beta2 = 0.5}, {0.996232748332588, -2.00286686081811, 0.49436349249356});
  adam("eps", {.eps = 0.1}, {0.996911304262696, -2.00239856539928, 0.495811810875433});
  adam("weight_decay", {.weight_decay = 0.3}, {0.996569410006487, -2.00224389646705, 0.495417502336892});
  adam("no weight_decay", {.weight_decay = 0}, {0.996811367067231, -2.0024218932954, 0.495504430649625});
  adam("amsgrad", {.lr = 0.1, .beta2 = 0.5, .amsgrad = true}, {0.666910460234686, -2.21987007256718, 0.0230565128962322});
  adam("maximize", {.lr = 0.1, .maximize = true}, {1.26736003446135, -1.73510632954401, 0.857264827447969});
  adam("several", {.lr = 0.1, .weight_decay = 0.3, .amsgrad = true}, {0.607092238299348, -2.20641595763248, 0.021730890998997});
}

TEST_F(Optimizers, AdamWHasPyTorchsNumbers) {
  const auto adamw = [](const char* what, optim::AdamWOptions o, const Doubles& want) {
    expect_steps<optim::AdamW>(what, o, want);
  };
  adamw("defaults", {}, {0.996761388965, -2.00232186698562, 0.495479495218315});
  adamw("lr", {.lr = 0.1}, {0.61951135430434, -2.21287908199858, 0.0200089818461787});
  adamw("beta1", {.beta1 = 0.5}, {0.998225565308766, -2.00069423892656, 0.496279284009658});
  adamw("beta2", {.beta2 = 0.5}, {0.996182748695493, -2.00276682707158, 0.49433856076813});
  adamw("eps", {.eps = 0.1}, {0.996861326511358, -2.00229853931718, 0.495786872155715});
  adamw("weight_decay", {.weight_decay = 0.3}, {0.9953128933243, -1.9994228445177, 0.49475680325642});
  adamw("no weight_decay", {.weight_decay = 0}, {0.996811367067231, -2.0024218932954, 0.495504430649625});
  adamw("amsgrad", {.lr = 0.1, .beta2 = 0.5, .amsgrad = true}, {0.662471481791498, -2.20941007240383, 0.0215029810266124});
  adamw("maximize", {.lr = 0.1, .maximize = true}, {1.26208319267818, -1.72537047054324, 0.854464829970019});
  adamw("several", {.lr = 0.1, .weight_decay = 0.3, .amsgrad = true}, {0.495600718894005, -1.93185819746276, -0.021471179971608});
}

template <class O, class Options>
void expect_complex_steps(Options options, const Doubles& want) {
  const auto complex = [](const Doubles& parts) { return aten<"view_as_complex">(tensor(parts, Shape{2, 2}, float64)); };
  const Tensor p = complex({1, 0.5, -2, -1}).clone().requires_grad_(), weights = complex({1, -0.3, 0.2, 1});
  O optimizer({p}, options);
  for (int k = 0; k < 5; k++) {
    optimizer.zero_grad();
    aten<"real">(((p * p * p * (1 - 0.6 * k) + p) * weights).sum()).backward();
    optimizer.step();
  }
  expect_near(aten<"view_as_real">(p.detach()), want, 1e-12);
}

TEST_F(Optimizers, ComplexParametersAreTwoNumbersEach) {
  expect_complex_steps<optim::SGD>(optim::SGDOptions{.lr = 0.01, .momentum = 0.9, .weight_decay = 0.1},
                                   {0.756245055696118, 0.499448379273559, -1.61526973193655, -0.540925946327867});
  expect_complex_steps<optim::Adam>(optim::AdamOptions{.lr = 0.1, .weight_decay = 0.3},
                                    {0.588352327750799, 0.622810787169857, -1.73847371017558, -0.729339442569873});
  expect_complex_steps<optim::Adam>(optim::AdamOptions{.lr = 0.1, .amsgrad = true},
                                    {0.6005086465417, 0.650584849527113, -1.76303750196544, -0.738340222216213});
  expect_complex_steps<optim::AdamW>(optim::AdamWOptions{.lr = 0.1},
                                     {0.596051274277974, 0.64765646781226, -1.75333479020664, -0.733600595442505});
}

TEST_F(Optimizers, DesignatedOptionsKeepTheOtherDefaults) {
  const Tensor p = tensor({1, -2, 0.5}, float64).requires_grad_();
  optim::AdamW optimizer({p}, {.lr = 0.1});  // as a program writes it, without naming the type
  p.set_grad(zeros_like(p));
  optimizer.step();
  expect_near(p, {1 * (1 - 0.1 * 0.01), -2 * (1 - 0.1 * 0.01), 0.5 * (1 - 0.1 * 0.01)}, 1e-15);
}

TEST_F(Optimizers, RefuseOptionsInPyTorchsWords) {
  const Tensor p = ones({2}).requires_grad_();
  const auto sgd = [&](optim::SGDOptions o) { return error_of([&] { optim::SGD({p}, o); }); };
  const auto adam = [&](optim::AdamOptions o) { return error_of([&] { optim::Adam({p}, o); }); };
  const auto adamw = [&](optim::AdamWOptions o) { return error_of([&] { optim::AdamW({p}, o); }); };
  EXPECT_EQ(sgd({.lr = -1}), "Invalid learning rate: -1");
  EXPECT_EQ(sgd({.momentum = -1}), "Invalid momentum value: -1");
  EXPECT_EQ(sgd({.weight_decay = -1}), "Invalid weight_decay value: -1");
  EXPECT_EQ(sgd({.nesterov = true}), "Nesterov momentum requires a momentum and zero dampening");
  EXPECT_EQ(sgd({.momentum = 0.9, .dampening = 0.1, .nesterov = true}),
            "Nesterov momentum requires a momentum and zero dampening");
  EXPECT_EQ(adam({.lr = -1}), "Invalid learning rate: -1");
  EXPECT_EQ(adam({.lr = std::nan("")}), "Invalid learning rate: nan");
  EXPECT_EQ(adam({.beta1 = -1}), "Invalid beta parameter at index 0: -1");
  EXPECT_EQ(adam({.beta1 = 1}), "Invalid beta parameter at index 0: 1");
  EXPECT_EQ(adam({.beta2 = 1}), "Invalid beta parameter at index 1: 1");
  EXPECT_EQ(adam({.eps = -1}), "Invalid epsilon value: -1");
  EXPECT_EQ(adam({.eps = std::nan("")}), "Invalid epsilon value: nan");
  EXPECT_EQ(adam({.weight_decay = -1}), "Invalid weight_decay value: -1");
  EXPECT_EQ(adamw({.weight_decay = -1}), "Invalid weight_decay value: -1");
}

TEST_F(Optimizers, RefuseParametersThatTheyCouldNotTrain) {
  const Tensor p = ones({2}).requires_grad_();
  EXPECT_EQ(error_of([&] { optim::SGD(TensorList{}, {}); }), "optimizer got an empty parameter list");
  EXPECT_NE(error_of([&] { optim::SGD({p * 2}, {}); }).find("can't optimize a non-leaf Tensor"), std::string::npos);
  EXPECT_NE(error_of([&] { optim::Adam({p, Tensor()}); }).find("optimizer can only optimize Tensors"), std::string::npos);
  EXPECT_NE(error_of([&] { optim::AdamW({p, p}); }).find("optimizer contains a parameter group with duplicate parameters"),
            std::string::npos);
}

TEST_F(Optimizers, AParameterWithoutAGradientIsLeftAlone) {
  const Tensor p = ones({2}).requires_grad_(), q = ones({2}).requires_grad_();
  optim::AdamW optimizer({p, q}, {.lr = 0.1});
  p.set_grad(ones({2}));
  optimizer.step();
  EXPECT_NE(p.to_vector<double>(), (Doubles{1, 1}));
  EXPECT_EQ(q.to_vector<double>(), (Doubles{1, 1})) << "no decay either";
}

TEST_F(Optimizers, AFrozenParameterWithAGradientIsStepped) {  // as PyTorch does
  Tensor p = ones({2}, {.dtype = float64}).requires_grad_();
  optim::SGD optimizer({p}, {.lr = 0.1, .weight_decay = 0.1});
  p.set_grad(ones({2}, {.dtype = float64}));
  p.requires_grad_(false);
  optimizer.step();
  expect_near(p, {0.89, 0.89}, 1e-12);
}

TEST_F(Optimizers, ZeroGradDropsOrFills) {
  const Tensor p = ones({2}).requires_grad_();
  optim::SGD optimizer({p}, {});
  p.set_grad(ones({2}));
  optimizer.zero_grad();
  EXPECT_FALSE(p.grad().defined());
  optimizer.zero_grad(false);
  EXPECT_FALSE(p.grad().defined());
  (p * p).sum().backward({}, false, true);
  const Tensor g = p.grad();
  EXPECT_TRUE(g.requires_grad());
  optimizer.zero_grad(false);
  EXPECT_TRUE(p.grad().is_same(g));
  EXPECT_FALSE(g.requires_grad());
  EXPECT_EQ(g.to_vector<double>(), (Doubles{0, 0}));
}

// ---- modules converted after the optimizer was made
void set(nn::Linear& m) {
  const NoGrad off;
  m.weight.copy_(tensor({0.5, -0.25}, Shape{1, 2}, float32));
  m.bias.copy_(tensor({0.125}, float32));
}

TEST_F(Optimizers, TrainAModuleThatWasConvertedAfterwards) {
  nn::Linear m(2, 1);
  set(m);
  optim::AdamW optimizer(m.parameters(), {.lr = 0.1});
  m.to(float64);
  const Tensor x = tensor({1, 2}, Shape{1, 2}, float64);
  for (int k = 0; k < 3; k++) {
    optimizer.zero_grad();
    m(x).pow(2).sum().backward();
    optimizer.step();
  }
  expect_near(m.weight, {0.4903261028351579, -0.2574261472513082}, 1e-13);
  expect_near(m.bias, {0.11644997821015785}, 1e-13);
}

TEST_F(Optimizers, StateStaysInTheOldDtype) {
  nn::Linear m(2, 1);
  set(m);
  optim::SGD optimizer(m.parameters(), {.lr = 0.1, .momentum = 0.9});
  Tensor x = tensor({1, 2}, Shape{1, 2}, float32);
  for (int k = 0; k < 4; k++) {
    if (k == 2) {
      m.to(float64);
      x = x.to(float64);
    }
    optimizer.zero_grad();
    m(x).pow(2).sum().backward();
    optimizer.step();
  }
  EXPECT_EQ(m.weight.dtype(), float64);
  expect_near(m.weight, {0.4906750127673149, -0.2686500042676926}, 1e-8);
  expect_near(m.bias, {0.11567501276731491}, 1e-8);
}

TEST_F(Optimizers, AdamRefusesStateOfAnotherDtype) {  // so does PyTorch
  nn::Linear m(2, 1);
  set(m);
  optim::Adam optimizer(m.parameters());
  m(ones({1, 2})).sum().backward();
  optimizer.step();
  m.to(float64);
  EXPECT_NE(error_of([&] { optimizer.step(); }).find("Make a new optimizer after the module was converted"), std::string::npos);
}

TEST_F(Optimizers, DecayBesideASparseGradientReachesEveryRow) {  // PyTorch refuses it
  nn::Embedding e(3, 2, {}, true);
  const Tensor before = e.weight.detach().clone();
  e(tensor({1}, int64)).sum().backward();
  optim::SGD optimizer(e.parameters(), {.lr = 0.1, .weight_decay = 0.5});
  optimizer.step();
  expect_near(e.weight, (before - before * 0.05 - tensor({0, 0, 0.1, 0.1, 0, 0}, Shape{3, 2}, float32)).to_vector<double>(),
              1e-6);
}

}  // namespace
}  // namespace ingot
