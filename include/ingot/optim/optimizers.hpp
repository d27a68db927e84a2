// The optimizers: PyTorch's update rules, defaults and names of state; Lion is its paper's.
#pragma once
#include <functional>

#include "ingot/optim/optimizer.hpp"

namespace ingot::optim {

// What each options struct ends with: what it refuses, and its fields by name (optimizer.hpp).
#define INGOT_OPTIONS \
  void check() const; \
  std::vector<NamedOption> named()

struct SGDOptions {
  double lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false, maximize = false;
  INGOT_OPTIONS;
};
class SGD : public OptimizerOf<SGDOptions> {
 public:
  SGD(TensorList parameters, SGDOptions o);
  void step() override;
};

struct AdamOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  bool amsgrad = false, maximize = false;
  INGOT_OPTIONS;
};
// weight_decay is added to the gradient.
class Adam : public OptimizerOf<AdamOptions> {
 public:
  Adam(TensorList parameters, AdamOptions o = {});
  void step() override;
};
struct AdamWOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 1e-2;
  bool amsgrad = false, maximize = false;
  INGOT_OPTIONS;
};
// weight_decay shrinks the parameter directly.
class AdamW : public OptimizerOf<AdamWOptions> {
 public:
  AdamW(TensorList parameters, AdamWOptions o = {});
  void step() override;
};

struct RMSpropOptions {
  double lr = 1e-2, alpha = 0.99, eps = 1e-8, weight_decay = 0, momentum = 0;
  bool centered = false, maximize = false;
  INGOT_OPTIONS;
};
class RMSprop : public OptimizerOf<RMSpropOptions> {
 public:
  RMSprop(TensorList parameters, RMSpropOptions o = {});
  void step() override;
};

struct AdagradOptions {
  double lr = 1e-2, lr_decay = 0, weight_decay = 0, initial_accumulator_value = 0, eps = 1e-10;
  bool maximize = false;
  INGOT_OPTIONS;
};
// Of a sparse gradient (ingot/sparse.hpp) it touches the rows that are there.
class Adagrad : public OptimizerOf<AdagradOptions> {
 public:
  Adagrad(TensorList parameters, AdagradOptions o = {});
  void step() override;
};

struct AdafactorOptions {
  double lr = 1e-2, beta2_decay = -0.8;
  std::optional<double> eps1 = {};  // without one: the parameter's machine epsilon
  double eps2 = 1e-3, d = 1, weight_decay = 0;
  bool maximize = false;
  INGOT_OPTIONS;
};
// Of a matrix it keeps a row and a column instead of a second moment of its size.
class Adafactor : public OptimizerOf<AdafactorOptions> {
 public:
  Adafactor(TensorList parameters, AdafactorOptions o = {});
  void step() override;

 private:
  Shape slot_size(std::size_t slot, const Tensor& parameter) const override;
};

struct LionOptions {
  double lr = 1e-4, beta1 = 0.9, beta2 = 0.99, weight_decay = 0;
  bool maximize = false;
  INGOT_OPTIONS;
};
// Chen et al., Symbolic Discovery of Optimization Algorithms: the sign of a moving average.
class Lion : public OptimizerOf<LionOptions> {
 public:
  Lion(TensorList parameters, LionOptions o = {});
  void step() override;
};

// What the learning rate of a matrix is multiplied by, after its sides.
enum class AdjustLr : int64_t { original, match_rms_adamw, spectral_unclamped };
struct MuonOptions {
  double lr = 1e-3, weight_decay = 0.1, momentum = 0.95;
  bool nesterov = true;
  std::array<double, 3> ns_coefficients = {3.4445, -4.7750, 2.0315};
  double eps = 1e-7;
  int64_t ns_steps = 5;
  AdjustLr adjust_lr = AdjustLr::original;  // not among the named options: it stays as given
  INGOT_OPTIONS;
};
// Of matrices alone, as hidden layers have them: the rest takes another optimizer.
class Muon : public OptimizerOf<MuonOptions> {
 public:
  Muon(TensorList parameters, MuonOptions o = {});
  void step() override;
};

struct LBFGSOptions {
  double lr = 1;
  int64_t max_iter = 20;
  std::optional<int64_t> max_eval = {};  // without one: 5/4 of max_iter
  double tolerance_grad = 1e-7, tolerance_change = 1e-9;
  int64_t history_size = 100;
  bool strong_wolfe = false;  // PyTorch's line_search_fn; not among the named options
  bool maximize = false;
  INGOT_OPTIONS;
};
// One group of real parameters.
class LBFGS : public OptimizerOf<LBFGSOptions> {
 public:
  LBFGS(TensorList parameters, LBFGSOptions o = {});
  // The closure drops the gradients, computes the loss, runs its backward and returns it; it is
  // called several times. Returns the first loss.
  Tensor step(const std::function<Tensor()>& closure);
  void step() override;  // user error: there is no step without a closure

 private:
  struct Point {
    double loss;
    Tensor gradient;
  };
  struct Search;  // the strong Wolfe line search
  Tensor flat_gradient() const;
  void move(double t, const Tensor& direction);
  Point evaluate(const std::function<Tensor()>& closure, const TensorList& at, double t, const Tensor& direction);
  void find_direction(const Tensor& gradient);
  nn::NamedTensors shared_state() const override;
  void load_shared_state(const nn::NamedTensors& values) override;

  int64_t evaluations_ = 0, iterations_ = 0;
  Tensor direction_, last_gradient_;
  TensorList changes_, steps_;  // PyTorch's old_dirs, old_stps
  std::vector<double> ro_;
  double t_ = 0, h_diag_ = 1, last_loss_ = 0;
};

#undef INGOT_OPTIONS

}  // namespace ingot::optim
