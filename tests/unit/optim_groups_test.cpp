// Groups of parameters, learning rates that change, and state that is stored: what is taken and
// what is refused.
#include <gtest/gtest.h>

#include "ingot/nn.hpp"
#include "ingot/optim.hpp"
#include "ingot/sparse.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"
#include "support/test_folder.hpp"

namespace ingot {
namespace {

class OptimizerGroups : public NoLeaks {};

bool mentions(const std::string& message, const std::string& what) { return message.find(what) != std::string::npos; }

TEST_F(OptimizerGroups, EachStepsByItsOptions) {
  const Tensor p = ones({2}).requires_grad_(), q = ones({3}).requires_grad_();
  optim::SGD o({p}, {.lr = 0.5});
  o.add_group({q}, {.lr = 0.25});
  EXPECT_EQ(o.groups(), 2u);
  EXPECT_TRUE(o.parameters(1)[0].is_same(q));
  for (const Tensor& t : {p, q}) t.set_grad(ones_like(t));
  o.step();
  EXPECT_EQ(p.to_vector<double>()[0], 0.5);
  EXPECT_EQ(q.to_vector<double>()[0], 0.75);
  o.set_lr(1, 0.5);
  o.step();
  EXPECT_EQ(p.to_vector<double>()[0], 0);
  EXPECT_EQ(q.to_vector<double>()[0], 0.25);
  o.set_lr(0.125);
  EXPECT_EQ(o.lr(0), 0.125);
  EXPECT_EQ(o.lr(1), 0.125);
  o.options(1).weight_decay = 1;
  EXPECT_EQ(o.option(1, "weight_decay"), 1);
  o.zero_grad();
  EXPECT_FALSE(q.grad().defined()) << "gradients of every group are dropped";
}

TEST_F(OptimizerGroups, AreRefusedAsTheFirstIs) {
  const Tensor p = ones({2}).requires_grad_(), q = ones({2}).requires_grad_();
  optim::Adam o({p});
  EXPECT_TRUE(mentions(error_of([&] { o.add_group({p}, {}); }), "some parameters appear in more than one parameter group"));
  EXPECT_EQ(error_of([&] { o.add_group({q}, {.lr = -1}); }), "Invalid learning rate: -1");
  EXPECT_EQ(o.groups(), 1u);
  EXPECT_TRUE(mentions(error_of([&] { o.set_option(0, "momentum", 1); }), "no option momentum"));
}

TEST_F(OptimizerGroups, OptionsAreRefusedInPyTorchsWords) {
  const Tensor p = ones({2}).requires_grad_();
  EXPECT_EQ(error_of([&] { optim::RMSprop({p}, {.alpha = -1}); }), "Invalid alpha value: -1");
  EXPECT_EQ(error_of([&] { optim::Adagrad({p}, {.lr_decay = -1}); }), "Invalid lr_decay value: -1");
  EXPECT_EQ(error_of([&] { optim::Adafactor({p}, {.d = 0.5}); }), "Clipping threshold d should be >= 1 but is: 0.5");
  EXPECT_EQ(error_of([&] { optim::Lion({p}, {.beta2 = 1}); }), "Invalid beta parameter at index 1: 1");
  EXPECT_TRUE(mentions(error_of([&] { optim::LBFGS({p}).step(); }), "step() needs a closure"));
  optim::Muon muon({p});
  p.set_grad(ones({2}));
  EXPECT_TRUE(mentions(error_of([&] { muon.step(); }), "Muon only supports 2D parameters"));
}

TEST_F(OptimizerGroups, AdagradTouchesTheRowsOfASparseGradient) {
  nn::Embedding sparse(5, 3, {}, true), dense(5, 3);
  dense.load_state(sparse.state());
  optim::Adagrad by_rows({sparse.weight}, {.lr = 0.1}), by_all({dense.weight}, {.lr = 0.1});
  for (int step = 0; step < 3; step++)
    for (auto [layer, o] : {std::pair{&sparse, &by_rows}, std::pair{&dense, &by_all}}) {
      o->zero_grad();
      const Tensor y = layer->forward(tensor({1, 3, 1}, int64));
      (y * y).sum().backward();
      EXPECT_EQ(is_sparse(layer->weight.grad()), layer == &sparse);
      o->step();
    }
  EXPECT_TRUE(allclose(sparse.weight, dense.weight, 1e-6, 1e-7));
}

TEST_F(OptimizerGroups, StateGoesThroughAFile) {
  const testing::TestFolder folder;
  const Tensor p = ones({2}).requires_grad_();
  optim::AdamW a({p}, {.lr = 0.25, .beta1 = 0.5});
  p.set_grad(ones({2}));
  a.step();
  a.save(folder.file("optimizer.safetensors"));
  optim::AdamW b({p});
  b.load(folder.file("optimizer.safetensors"));
  EXPECT_EQ(b.lr(), 0.25);
  EXPECT_EQ(b.options().beta1, 0.5);
  const nn::NamedTensors was = a.state(), is = b.state();
  ASSERT_EQ(was.size(), is.size());
  for (std::size_t i = 0; i < was.size(); i++) {
    EXPECT_EQ(was[i].first, is[i].first);
    EXPECT_TRUE(equal(was[i].second, is[i].second)) << was[i].first;
  }
}

TEST_F(OptimizerGroups, StateThatDoesNotFitIsRefusedAndChangesNothing) {
  const Tensor p = ones({2}).requires_grad_(), q = ones({3}).requires_grad_();
  optim::Adam a({p}, {.lr = 0.5}), b({q}, {.lr = 0.25});
  p.set_grad(ones({2}));
  a.step();
  EXPECT_TRUE(mentions(error_of([&] { b.load_state(a.state()); }), "size mismatch for state.0.exp_avg: expected [3], found [2]"));
  EXPECT_EQ(b.lr(), 0.25);
  EXPECT_TRUE(mentions(error_of([&] { optim::SGD({p}, {}).load_state(a.state()); }), "unexpected: state.0.exp_avg"));
  EXPECT_TRUE(mentions(error_of([&] { optim::SGD({p}, {}).load_state(a.state()); }), "missing: param_groups.0.momentum"));
  optim::Adam two({p});
  two.add_group({q}, {});
  EXPECT_TRUE(mentions(error_of([&] { two.load_state(a.state()); }), "missing: param_groups.1.params"));
}

TEST_F(OptimizerGroups, SchedulersRefuseWhatTheyCannotFollow) {
  const Tensor p = ones({2}).requires_grad_(), q = ones({2}).requires_grad_();
  optim::SGD o({p}, {.lr = 1});
  optim::Adagrad without_momentum({q});
  EXPECT_TRUE(mentions(error_of([&] { optim::StepLR(o, 0); }), "positive step_size"));
  EXPECT_TRUE(mentions(error_of([&] { optim::LinearLR(o, 0); }), "Starting multiplicative factor"));
  EXPECT_TRUE(mentions(error_of([&] { optim::CyclicLR(o, {1, 2, 3}, 1); }), "base_lr must have the same length"));
  EXPECT_TRUE(mentions(error_of([&] { optim::CyclicLR(without_momentum, 0.1, 1); }), "must support momentum or beta1"));
  EXPECT_TRUE(mentions(error_of([&] { optim::ReduceLROnPlateau(o).step(); }), "needs the measure"));
  EXPECT_TRUE(mentions(error_of([&] { optim::SequentialLR(o, {}, {}); }), "at least one scheduler"));
  EXPECT_TRUE(mentions(error_of([&] { optim::ChainedScheduler(o, {std::make_shared<optim::ReduceLROnPlateau>(o)}); }),
                       "does not support ReduceLROnPlateau"));
  optim::OneCycleLR cycle(o, 1, {.total_steps = 2});
  cycle.step();
  cycle.step();
  EXPECT_TRUE(mentions(error_of([&] { cycle.step(); }), "Tried to step 3 times"));
  optim::StepLR step(without_momentum, 2);
  EXPECT_TRUE(mentions(error_of([&] { step.load_state({{"last_epoch", ones({2})}}); }), "needs a number last_epoch"));
}

TEST_F(OptimizerGroups, ANormThatIsNoNumberIsRefusedWhereAsked) {
  const Tensor p = ones({2}).requires_grad_();
  p.set_grad(tensor({1, INFINITY}));
  EXPECT_TRUE(mentions(error_of([&] { nn::clip_grad_norm_({p}, 1, 2, true); }), "is non-finite, so it cannot be clipped"));
  EXPECT_EQ(nn::get_total_norm({}).item_double(), 0);
}

TEST_F(OptimizerGroups, ParametersAreOneVectorAndBack) {
  const Tensor p = arange(0, 6).to(float32).view({2, 3}).requires_grad_(), q = ones({2}).requires_grad_();
  const Tensor v = nn::parameters_to_vector({p, q});
  EXPECT_EQ(v.to_vector<double>(), (std::vector<double>{0, 1, 2, 3, 4, 5, 1, 1}));
  nn::vector_to_parameters(v * 2, {p, q});
  EXPECT_EQ(q.to_vector<double>()[0], 2);
  EXPECT_EQ(p[1][2].item_double(), 10);
  EXPECT_TRUE(mentions(error_of([&] { nn::vector_to_parameters(ones({7}), {p, q}); }), "expected a vector of 8"));
}

TEST_F(OptimizerGroups, AnAverageIsTheModuleInAScope) {
  nn::Linear m(2, 2);
  optim::AveragedModel average(m, {.decay = 0.5});
  average.update();
  const Tensor before = m.weight.detach().clone();
  {
    const NoGrad off;
    m.weight.add_(ones({2, 2}));
  }
  average.update();
  {
    const nn::StateScope scope(m, average.tensors());
    EXPECT_TRUE(allclose(m.weight, before + 0.5));
  }
  EXPECT_TRUE(allclose(m.weight, before + 1));
}

}  // namespace
}  // namespace ingot
