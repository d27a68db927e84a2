// Optimizers, schedulers, averages and clipping: every case of scripts/torch_optim_cases.py, in
// PyTorch's numbers.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "base/error.hpp"
#include "check/compare.hpp"
#include "ingot/nn.hpp"
#include "ingot/optim.hpp"
#include "io/safetensors.hpp"

namespace ingot {
namespace {

using namespace optim;

constexpr int kSteps = 6;
const std::set<int> kSeen = {1, 3, 6};

const SafeTensors& optim_golden() {
  static const SafeTensors file = SafeTensors::open(std::string(INGOT_GOLDEN_DIR) + "/nn/optim.safetensors");
  return file;
}
void expect_case(const Tensor& got, const std::string& name, double tolerance = 1e-12) {
  ASSERT_TRUE(optim_golden().contains(name)) << name;
  EXPECT_EQ(compare(got.detach(), optim_golden().get(name), {tolerance, tolerance}).message, "") << name;
}
// The cases that the file has under "optim/" and the like.
std::set<std::string> cases_of(const std::string& kind) {
  std::set<std::string> r;
  for (const std::string& name : optim_golden().names())
    if (name.starts_with(kind)) r.insert(name.substr(kind.size(), name.find('/', kind.size()) - kind.size()));
  return r;
}
template <class T>
std::set<std::string> keys_of(const std::map<std::string, T>& cases) {
  std::set<std::string> r;
  for (const auto& [name, c] : cases) r.insert(name);
  return r;
}

using Made = std::unique_ptr<Optimizer>;
// Two groups: the second has its own learning rate.
template <class O, class Options>
std::function<Made(const TensorList&)> of(Options first) {
  return [first](const TensorList& p) {
    auto o = std::make_unique<O>(TensorList{p[0]}, first);
    Options second = first;
    second.lr = 0.03;
    o->add_group({p[1]}, second);
    return Made(std::move(o));
  };
}

const std::map<std::string, std::function<Made(const TensorList&)>>& optimizer_cases() {
  static const std::map<std::string, std::function<Made(const TensorList&)>> cases = {
      {"sgd", of<SGD>(SGDOptions{})},
      {"sgd_momentum", of<SGD>(SGDOptions{.lr = 0.1, .momentum = 0.9, .dampening = 0.3, .weight_decay = 0.2})},
      {"sgd_nesterov", of<SGD>(SGDOptions{.lr = 0.1, .momentum = 0.9, .nesterov = true, .maximize = true})},
      {"adam", of<Adam>(AdamOptions{})},
      {"adam_decay", of<Adam>(AdamOptions{.lr = 0.1, .beta1 = 0.8, .beta2 = 0.9, .eps = 1e-3, .weight_decay = 0.3})},
      {"adam_amsgrad", of<Adam>(AdamOptions{.lr = 0.1, .beta1 = 0.5, .beta2 = 0.6, .amsgrad = true, .maximize = true})},
      {"adamw", of<AdamW>(AdamWOptions{})},
      {"adamw_amsgrad", of<AdamW>(AdamWOptions{.lr = 0.1, .beta1 = 0.5, .beta2 = 0.6, .weight_decay = 0.3, .amsgrad = true})},
      {"rmsprop", of<RMSprop>(RMSpropOptions{})},
      {"rmsprop_centered", of<RMSprop>(RMSpropOptions{.lr = 0.1, .alpha = 0.8, .weight_decay = 0.2, .centered = true})},
      {"rmsprop_momentum", of<RMSprop>(RMSpropOptions{.lr = 0.05, .eps = 1e-3, .momentum = 0.9, .maximize = true})},
      {"rmsprop_all", of<RMSprop>(RMSpropOptions{.lr = 0.05, .weight_decay = 0.1, .momentum = 0.9, .centered = true})},
      {"adagrad", of<Adagrad>(AdagradOptions{})},
      {"adagrad_decay", of<Adagrad>(AdagradOptions{
                            .lr = 0.1, .lr_decay = 0.2, .weight_decay = 0.3, .initial_accumulator_value = 0.4, .eps = 1e-3})},
      {"adagrad_maximize", of<Adagrad>(AdagradOptions{.lr = 0.1, .maximize = true})},
      {"adafactor", of<Adafactor>(AdafactorOptions{})},
      {"adafactor_decay",
       of<Adafactor>(AdafactorOptions{
           .lr = 0.5, .beta2_decay = -0.5, .eps1 = 1e-4, .eps2 = 0.2, .d = 1.5, .weight_decay = 0.1, .maximize = true})},
      {"lion", of<Lion>(LionOptions{})},
      {"lion_decay", of<Lion>(LionOptions{.lr = 0.05, .beta1 = 0.8, .beta2 = 0.7, .weight_decay = 0.4})},
      {"lion_maximize", of<Lion>(LionOptions{.lr = 0.05, .maximize = true})},
      {"muon", of<Muon>(MuonOptions{})},
      {"muon_plain", of<Muon>(MuonOptions{.lr = 0.1, .weight_decay = 0, .momentum = 0.8, .nesterov = false})},
      {"muon_adamw",
       of<Muon>(MuonOptions{.lr = 0.1, .weight_decay = 0.3, .eps = 1e-3, .ns_steps = 3, .adjust_lr = AdjustLr::match_rms_adamw})},
      {"muon_spectral",
       of<Muon>(MuonOptions{.lr = 0.1, .ns_coefficients = {3.0, -3.2, 1.2}, .adjust_lr = AdjustLr::spectral_unclamped})},
  };
  return cases;
}
bool is_muon(const std::string& name) { return name.starts_with("muon"); }
// Muon orthogonalises in bfloat16, whose products are summed in another order here; what is kept
// is exact.
double tolerance_of(const std::string& name) { return is_muon(name) ? 4e-3 : 1e-12; }

TensorList start_of(const std::string& name) {
  const Tensor first = optim_golden().get("start.0"), second = is_muon(name) ? first.t() : optim_golden().get("start.1");
  return {first.clone().requires_grad_(), second.contiguous().clone().requires_grad_()};
}
void set_gradients(const std::string& name, const TensorList& p, int step) {
  const Tensor first = optim_golden().get("grads.0")[step];
  p[0].set_grad(first.clone());
  p[1].set_grad(is_muon(name) ? first.t().contiguous() : optim_golden().get("grads.1")[step].clone());
}

TEST(OptimCases, OptimizersHavePyTorchsNumbersAndState) {
  EXPECT_EQ(cases_of("optim/"), keys_of(optimizer_cases()));
  for (const auto& [name, make] : optimizer_cases()) {
    const TensorList p = start_of(name);
    const Made o = make(p);
    TensorList seen[2];
    for (int step = 0; step < kSteps; step++) {
      set_gradients(name, p, step);
      o->step();
      for (std::size_t i = 0; i < 2; i++)
        if (kSeen.contains(step + 1)) seen[i].push_back(p[i].detach().clone());
    }
    for (std::size_t i = 0; i < 2; i++) expect_case(stack(seen[i]), text("optim/", name, "/", i), tolerance_of(name));
    std::set<std::string> kept;
    for (const auto& [key, t] : o->state())
      if (key.starts_with("state.") && !key.ends_with(".step")) {
        kept.insert(key);
        expect_case(t, "optim/" + name + "/" + key);
      }
    const std::string prefix = "optim/" + name + "/";
    for (const std::string& key : optim_golden().names()) {
      EXPECT_TRUE(!key.starts_with(prefix + "state.") || kept.contains(key.substr(prefix.size()))) << key;
    }
  }
}

// Half of the steps, then the state in another optimizer with other options: the same bits.
TEST(OptimCases, ALoadedStateGoesOnWithTheSameBits) {
  for (const auto& [name, make] : optimizer_cases()) {
    const TensorList p = start_of(name), q = start_of(name);
    const Made whole = make(p), first = make(q);
    for (int step = 0; step < 3; step++) {
      set_gradients(name, p, step);
      whole->step();
      set_gradients(name, q, step);
      first->step();
    }
    const Made second = make(q);
    second->set_lr(7);
    second->load_state(first->state());
    for (int step = 3; step < kSteps; step++) {
      set_gradients(name, p, step);
      whole->step();
      set_gradients(name, q, step);
      second->step();
    }
    for (std::size_t i = 0; i < 2; i++) EXPECT_TRUE(equal(p[i], q[i])) << name << " parameter " << i;
  }
}

// ---- L-BFGS

const std::map<std::string, LBFGSOptions>& lbfgs_cases() {
  static const std::map<std::string, LBFGSOptions> cases = {
      {"plain", {.lr = 1e-3, .max_iter = 4}},
      {"history", {.lr = 0.2, .max_iter = 7, .history_size = 3}},
      {"wolfe", {.max_iter = 6, .strong_wolfe = true}},
      {"wolfe_long", {.lr = 0.5, .history_size = 4, .strong_wolfe = true}},
      {"wolfe_few", {.max_iter = 9, .max_eval = 5, .strong_wolfe = true}},
      {"maximize", {.max_iter = 5, .strong_wolfe = true, .maximize = true}},
  };
  return cases;
}
struct Valley {  // Rosenbrock's
  TensorList p = {tensor({-1.2, 1.0, 0.3}, float64).requires_grad_(), tensor({0.5, -0.7}, Shape{2, 1}, float64).requires_grad_()};
  void step(LBFGS& o, bool maximize) {
    o.step([&] {
      o.zero_grad();
      const Tensor x = cat({p[0], p[1].flatten()}), left = x.narrow(0, 0, 4);
      Tensor loss = (square(x.narrow(0, 1, 4) - square(left)) * 10 + square(1 - left)).sum();
      if (maximize) loss = -loss;
      loss.backward();
      return loss;
    });
  }
};

TEST(OptimCases, LbfgsHasPyTorchsNumbers) {
  EXPECT_EQ(cases_of("lbfgs/"), keys_of(lbfgs_cases()));
  for (const auto& [name, options] : lbfgs_cases()) {
    Valley v;
    LBFGS o(v.p, options);
    TensorList seen[2];
    for (int k = 0; k < 4; k++) {
      v.step(o, options.maximize);
      for (std::size_t i = 0; i < 2; i++) seen[i].push_back(v.p[i].detach().clone());
    }
    for (std::size_t i = 0; i < 2; i++) expect_case(stack(seen[i]), text("lbfgs/", name, "/", i), 1e-7);
  }
}

TEST(OptimCases, ALoadedStateOfLbfgsGoesOnWithTheSameBits) {
  for (const auto& [name, options] : lbfgs_cases()) {
    Valley whole, parts;
    LBFGS o(whole.p, options), first(parts.p, options), second(parts.p, options);
    for (int k = 0; k < 4; k++) {
      whole.step(o, options.maximize);
      if (k == 2) second.load_state(first.state());
      parts.step(k < 2 ? first : second, options.maximize);
    }
    for (std::size_t i = 0; i < 2; i++) EXPECT_TRUE(equal(whole.p[i], parts.p[i])) << name;
  }
}

// ---- schedulers

using MadeScheduler = std::shared_ptr<LRScheduler>;
template <class S, class... A>
std::function<MadeScheduler(Optimizer&)> scheduler(A... given) {
  return [=](Optimizer& o) { return std::make_shared<S>(o, given...); };
}

const std::map<std::string, std::function<MadeScheduler(Optimizer&)>>& scheduler_cases() {
  using Functions = std::vector<EpochFunction>;
  static const std::map<std::string, std::function<MadeScheduler(Optimizer&)>> cases = {
      {"step", scheduler<StepLR>(3)},
      {"multi_step", scheduler<MultiStepLR>(std::vector<int64_t>{2, 5, 5, 9}, 0.5)},
      {"constant", scheduler<ConstantLR>()},
      {"constant_half", scheduler<ConstantLR>(0.5, 3)},
      {"linear", scheduler<LinearLR>()},
      {"linear_down", scheduler<LinearLR>(1.0, 0.25, 7)},
      {"exponential", scheduler<ExponentialLR>(0.8)},
      {"polynomial", scheduler<PolynomialLR>()},
      {"polynomial_square", scheduler<PolynomialLR>(8, 2.0)},
      {"cosine", scheduler<CosineAnnealingLR>(5)},
      {"cosine_floor", scheduler<CosineAnnealingLR>(4, 0.01)},
      {"restarts", scheduler<CosineAnnealingWarmRestarts>(3)},
      {"restarts_longer", scheduler<CosineAnnealingWarmRestarts>(2, 2, 0.001)},
      {"lambda", scheduler<LambdaLR>(Functions{[](int64_t e) { return std::pow(0.9, e); },
                                               [](int64_t e) { return 1 / (1 + static_cast<double>(e)); }})},
      {"multiplicative", scheduler<MultiplicativeLR>(EpochFunction([](int64_t e) { return 1 - 0.05 * static_cast<double>(e); }))},
      {"one_cycle", scheduler<OneCycleLR>(0.5, OneCycleOptions{.total_steps = 14})},
      {"one_cycle_three", scheduler<OneCycleLR>(PerGroup{0.5, 0.2}, OneCycleOptions{.total_steps = 14,
                                                                                    .pct_start = 0.4,
                                                                                    .linear = true,
                                                                                    .base_momentum = 0.7,
                                                                                    .max_momentum = 0.8,
                                                                                    .div_factor = 10,
                                                                                    .final_div_factor = 50,
                                                                                    .three_phase = true})},
      {"cyclic", scheduler<CyclicLR>(0.01, 0.1, CyclicOptions{.step_size_up = 3})},
      {"cyclic_2", scheduler<CyclicLR>(PerGroup{0.01, 0.02}, PerGroup{0.1, 0.3},
                                       CyclicOptions{.step_size_up = 2,
                                                     .step_size_down = 3,
                                                     .mode = CyclicMode::triangular2,
                                                     .base_momentum = 0.5})},
      {"cyclic_range",
       scheduler<CyclicLR>(
           0.01, 0.1,
           CyclicOptions{.step_size_up = 2, .mode = CyclicMode::exp_range, .gamma = 0.9, .cycle_momentum = false})},
      {"plateau", scheduler<ReduceLROnPlateau>(PlateauOptions{.factor = 0.5, .patience = 1})},
      {"plateau_max", scheduler<ReduceLROnPlateau>(PlateauOptions{.max = true,
                                                                  .factor = 0.3,
                                                                  .patience = 0,
                                                                  .threshold = 0.05,
                                                                  .absolute = true,
                                                                  .cooldown = 2,
                                                                  .min_lr = {0.01, 0.001}})},
      {"sequential",
       [](Optimizer& o) {
         return std::make_shared<SequentialLR>(o,
                                               Schedulers{std::make_shared<LinearLR>(o, 0.2, 1, 4),
                                                          std::make_shared<CosineAnnealingLR>(o, 6),
                                                          std::make_shared<StepLR>(o, 2)},
                                               std::vector<int64_t>{4, 9});
       }},
      {"chained",
       [](Optimizer& o) {
         return std::make_shared<ChainedScheduler>(
             o, Schedulers{std::make_shared<ConstantLR>(o, 0.1, 3), std::make_shared<ExponentialLR>(o, 0.9)});
       }},
  };
  return cases;
}

const double kMeasures[] = {3.0, 2.0, 2.5, 1.9, 2.2, 2.4, 2.0, 1.95, 1.0, 0.9999, 0.9999, 1.2, 0.99};

struct Scheduled {
  TensorList p = {zeros({2}).requires_grad_(), zeros({3}).requires_grad_()};
  bool adam;
  Made optimizer;
  MadeScheduler scheduler;
  explicit Scheduled(const std::string& name) : adam(name == "one_cycle_three" || name == "cyclic_2") {
    if (adam) {
      auto o = std::make_unique<Adam>(TensorList{p[0]}, AdamOptions{.lr = 0.1});
      o->add_group({p[1]}, {.lr = 0.02});
      optimizer = std::move(o);
    } else {
      auto o = std::make_unique<SGD>(TensorList{p[0]}, SGDOptions{.lr = 0.1, .momentum = 0.9});
      o->add_group({p[1]}, {.lr = 0.02, .momentum = 0.9});
      optimizer = std::move(o);
    }
    scheduler = scheduler_cases().at(name)(*optimizer);
  }
  void step(double measure) {
    if (auto* by_measure = dynamic_cast<ReduceLROnPlateau*>(scheduler.get())) by_measure->step(measure);
    else scheduler->step();
  }
  std::vector<double> rates() const { return {optimizer->lr(0), optimizer->lr(1)}; }
  double momentum() const { return optimizer->option(0, adam ? "betas.0" : "momentum"); }
};

TEST(OptimCases, SchedulersHavePyTorchsNumbers) {
  EXPECT_EQ(cases_of("lr/"), keys_of(scheduler_cases()));
  for (const auto& [name, make] : scheduler_cases()) {
    Scheduled s(name);
    std::vector<double> rates, momenta;
    for (const double measure : kMeasures) {
      for (const double lr : s.rates()) rates.push_back(lr);
      momenta.push_back(s.momentum());
      EXPECT_EQ(s.scheduler->last_lr(), s.rates()) << name;
      s.step(measure);
    }
    const auto steps = static_cast<int64_t>(momenta.size());
    expect_case(tensor(rates, Shape{steps, 2}, float64), "lr/" + name, 1e-14);
    expect_case(tensor(momenta, float64), "momentum/" + name, 1e-14);
  }
}

TEST(OptimCases, ALoadedStateOfASchedulerGoesOn) {
  for (const auto& [name, make] : scheduler_cases()) {
    Scheduled whole(name), first(name), second(name);
    int k = 0;
    for (const double measure : kMeasures) {
      whole.step(measure);
      if (k == 6) {
        second.optimizer->load_state(first.optimizer->state());
        second.scheduler->load_state(first.scheduler->state());
      }
      Scheduled& now = k < 6 ? first : second;
      now.step(measure);
      EXPECT_EQ(now.rates(), whole.rates()) << name << " step " << k;
      EXPECT_EQ(now.momentum(), whole.momentum()) << name << " step " << k;
      k++;
    }
  }
}

// ---- clipping and averages

TEST(OptimCases, ClippingHasPyTorchsNumbers) {
  const std::map<std::string, double> norms = {{"two", 2}, {"one", 1}, {"infinity", INFINITY}, {"half", 0.5}};
  std::set<std::string> cases = keys_of(norms);
  cases.insert("value");
  EXPECT_EQ(cases_of("clip/"), cases);
  const TensorList p = start_of("");
  for (const auto& [name, norm] : norms) {
    set_gradients("", p, 0);
    expect_case(nn::clip_grad_norm_(p, 1.5, norm), "clip/" + name + "/norm");
    for (std::size_t i = 0; i < 2; i++) expect_case(p[i].grad(), text("clip/", name, "/", i));
  }
  set_gradients("", p, 0);
  nn::clip_grad_value_({p[0]}, 0.4);
  expect_case(p[0].grad(), "clip/value/0");
}

TEST(OptimCases, AveragesHavePyTorchsNumbers) {
  const std::map<std::string, AveragedModelOptions> cases = {
      {"ema", {.decay = 0.8}}, {"ema_buffers", {.decay = 0.8, .use_buffers = true}}, {"mean", {}}};
  EXPECT_EQ(cases_of("average/"), keys_of(cases));
  for (const auto& [name, options] : cases) {
    nn::BatchNorm1d m(5);
    m.to(float64);
    AveragedModel average(m, options);
    const NoGrad no_grad;
    for (int step = 0; step < kSteps; step++) {
      const Tensor change = optim_golden().get("grads.1")[step];
      m.weight.add_(change);
      m.bias.sub_(change);
      m.running_mean.add_(change);
      average.update();
    }
    std::size_t compared = 0;
    for (const auto& [key, t] : average.state()) {
      expect_case(t.to(float64), "average/" + name + "/" + key);
      compared++;
    }
    EXPECT_EQ(compared, 6u);
    AveragedModel other(m, options);
    other.load_state(average.state());
    other.copy_to(m);
    expect_case(m.weight, "average/" + name + "/module.weight");
  }
}

}  // namespace
}  // namespace ingot
