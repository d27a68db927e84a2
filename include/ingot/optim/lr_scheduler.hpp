// Schedulers of the learning rate: PyTorch's, with its defaults and its recursive rules, by which
// several change one optimizer. Making one sets the first learning rates; step() comes after the
// optimizer's. The optimizer must outlive them. Where groups have values of their own, these are
// given as lists.
#pragma once
#include <functional>
#include <initializer_list>
#include <memory>

#include "ingot/optim/optimizer.hpp"

namespace ingot::optim {

// One value for every group, or one each.
class PerGroup {
 public:
  PerGroup(double x) : values_{x} {}
  PerGroup(std::initializer_list<double> l) : values_(l) {}
  PerGroup(std::vector<double> l) : values_(std::move(l)) {}
  // User error where their number is neither 1 nor that of the groups.
  std::vector<double> of(const Optimizer& optimizer, const char* name) const;

 private:
  std::vector<double> values_;
};

class LRScheduler {
 public:
  LRScheduler(const LRScheduler&) = delete;
  LRScheduler& operator=(const LRScheduler&) = delete;
  virtual ~LRScheduler() = default;
  virtual void step();
  std::vector<double> last_lr() const;  // of each group, now
  int64_t last_epoch() const { return last_epoch_; }

  // What changes from step to step: "last_epoch", "base_lrs.0", … The learning rates themselves are
  // in the optimizer's state.
  nn::NamedTensors state() const;
  void load_state(const nn::NamedTensors& values);

 protected:
  explicit LRScheduler(Optimizer& optimizer) : optimizer_(optimizer) {}
  // Remembers the learning rates that the optimizer has as the initial ones, unless another
  // scheduler did, and makes the first step. For constructors of those that can be stepped.
  void begin();
  void begin_again();  // the first step alone
  void restart();      // at epoch 0
  // Learning rates for last_epoch_, after those of the epoch before. is_initial_ in the first step.
  virtual std::vector<double> rates() = 0;
  // Those of epoch 0, whatever was before.
  virtual std::vector<double> first_rates() { return rates(); }
  std::vector<double> scaled(double factor) const;       // the learning rates now, multiplied
  std::vector<double> base_scaled(double factor) const;  // the initial ones
  void set(const std::vector<double>& rates);
  // The numbers of state(), where they are.
  using Number = std::pair<std::string, std::variant<double*, int64_t*>>;
  virtual std::vector<Number> numbers();
  virtual std::vector<LRScheduler*> parts() { return {}; }  // schedulers that it steps
  void undo();  // the first steps of it and of its parts

  Optimizer& optimizer_;
  std::vector<double> base_lrs_;
  int64_t last_epoch_ = -1, steps_ = 0;
  bool is_initial_ = false;
  friend class SequentialLR;
};

using EpochFunction = std::function<double(int64_t epoch)>;

#define INGOT_RATES std::vector<double> rates() override
class LambdaLR : public LRScheduler {  // the initial rate, multiplied
 public:
  LambdaLR(Optimizer& optimizer, EpochFunction f);
  LambdaLR(Optimizer& optimizer, std::vector<EpochFunction> of_group);

 private:
  INGOT_RATES;
  std::vector<EpochFunction> f_;
};
class MultiplicativeLR : public LRScheduler {  // the last rate, multiplied
 public:
  MultiplicativeLR(Optimizer& optimizer, EpochFunction f);
  MultiplicativeLR(Optimizer& optimizer, std::vector<EpochFunction> of_group);

 private:
  INGOT_RATES;
  std::vector<EpochFunction> f_;
};
class StepLR : public LRScheduler {
 public:
  StepLR(Optimizer& optimizer, int64_t step_size, double gamma = 0.1);

 private:
  INGOT_RATES;
  std::vector<double> first_rates() override { return base_scaled(1); }
  int64_t step_size_;
  double gamma_;
};
class MultiStepLR : public LRScheduler {
 public:
  MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma = 0.1);

 private:
  INGOT_RATES;
  std::vector<double> first_rates() override;
  std::vector<int64_t> milestones_;
  double gamma_;
};
class ConstantLR : public LRScheduler {
 public:
  explicit ConstantLR(Optimizer& optimizer, double factor = 1.0 / 3, int64_t total_iters = 5);

 private:
  INGOT_RATES;
  std::vector<double> first_rates() override;
  double factor_;
  int64_t total_iters_;
};
class LinearLR : public LRScheduler {
 public:
  explicit LinearLR(Optimizer& optimizer, double start_factor = 1.0 / 3, double end_factor = 1, int64_t total_iters = 5);

 private:
  INGOT_RATES;
  std::vector<double> first_rates() override { return base_scaled(start_); }
  double start_, end_;
  int64_t total_iters_;
};
class ExponentialLR : public LRScheduler {
 public:
  ExponentialLR(Optimizer& optimizer, double gamma);

 private:
  INGOT_RATES;
  std::vector<double> first_rates() override { return base_scaled(1); }
  double gamma_;
};
class PolynomialLR : public LRScheduler {
 public:
  explicit PolynomialLR(Optimizer& optimizer, int64_t total_iters = 5, double power = 1);

 private:
  INGOT_RATES;
  std::vector<double> first_rates() override { return base_scaled(1); }
  int64_t total_iters_;
  double power_;
};
class CosineAnnealingLR : public LRScheduler {
 public:
  CosineAnnealingLR(Optimizer& optimizer, int64_t t_max, double eta_min = 0);

 private:
  INGOT_RATES;
  std::vector<double> first_rates() override { return base_scaled(1); }
  int64_t t_max_;
  double eta_min_;
};
class CosineAnnealingWarmRestarts : public LRScheduler {
 public:
  CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t t_0, int64_t t_mult = 1, double eta_min = 0);
  void step() override;
  void step(double epoch);  // to any place, between two epochs too

 private:
  INGOT_RATES;
  std::vector<Number> numbers() override;
  int64_t t_0_, t_i_, t_mult_;
  double eta_min_, t_cur_ = -1;
};

struct OneCycleOptions {
  int64_t total_steps = 0;
  double pct_start = 0.3;
  bool linear = false;  // PyTorch's anneal_strategy
  bool cycle_momentum = true;
  double base_momentum = 0.85, max_momentum = 0.95, div_factor = 25, final_div_factor = 1e4;
  bool three_phase = false;
};
class OneCycleLR : public LRScheduler {
 public:
  OneCycleLR(Optimizer& optimizer, PerGroup max_lr, OneCycleOptions o);

 private:
  INGOT_RATES;
  OneCycleOptions o_;
  std::vector<double> max_lrs_;
};

enum class CyclicMode { triangular, triangular2, exp_range };
struct CyclicOptions {
  int64_t step_size_up = 2000;
  std::optional<int64_t> step_size_down = {};  // without one: step_size_up
  CyclicMode mode = CyclicMode::triangular;
  double gamma = 1;
  bool cycle_momentum = true;
  double base_momentum = 0.8, max_momentum = 0.9;
};
class CyclicLR : public LRScheduler {
 public:
  CyclicLR(Optimizer& optimizer, PerGroup base_lr, PerGroup max_lr, CyclicOptions o = {});

 private:
  INGOT_RATES;
  CyclicOptions o_;
  std::vector<double> max_lrs_;
};
#undef INGOT_RATES

struct PlateauOptions {
  bool max = false;  // PyTorch's mode: whether more is better
  double factor = 0.1;
  int64_t patience = 10;
  double threshold = 1e-4;
  bool absolute = false;  // PyTorch's threshold_mode
  int64_t cooldown = 0;
  PerGroup min_lr = 0.0;
  double eps = 1e-8;
};
// Lowers the learning rates when a measure no longer gets better.
class ReduceLROnPlateau : public LRScheduler {
 public:
  explicit ReduceLROnPlateau(Optimizer& optimizer, PlateauOptions o = {});
  void step(double measure);
  void step() override;  // user error: there is nothing to judge by

 private:
  std::vector<double> rates() override { return last_lr(); }
  std::vector<Number> numbers() override;
  PlateauOptions o_;
  std::vector<double> min_lrs_;
  double best_;
  int64_t cooldown_left_ = 0, bad_epochs_ = 0;
};

using Schedulers = std::vector<std::shared_ptr<LRScheduler>>;
// One after the other: schedulers[k + 1] begins at epoch milestones[k].
class SequentialLR : public LRScheduler {
 public:
  SequentialLR(Optimizer& optimizer, Schedulers schedulers, std::vector<int64_t> milestones);
  void step() override;

 private:
  std::vector<double> rates() override { return last_lr(); }
  std::vector<LRScheduler*> parts() override;
  Schedulers schedulers_;
  std::vector<int64_t> milestones_;
};
// All at once, each on what the one before made.
class ChainedScheduler : public LRScheduler {
 public:
  ChainedScheduler(Optimizer& optimizer, Schedulers schedulers);
  void step() override;

 private:
  std::vector<double> rates() override { return last_lr(); }
  std::vector<LRScheduler*> parts() override;
  Schedulers schedulers_;
};

}  // namespace ingot::optim
