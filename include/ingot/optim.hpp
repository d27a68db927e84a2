// Optimizers with PyTorch's update rules and defaults. step() reads each parameter's grad(); a
// parameter without one is left alone. A parameter may change its dtype after the optimizer was
// made (Module::to); the state that step() keeps stays in the old one.
#pragma once
#include "ingot/ingot.hpp"

namespace ingot::optim {

class Optimizer {
 public:
  // User error for no parameters, one given twice, and one that is no leaf.
  explicit Optimizer(TensorList parameters);
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  virtual ~Optimizer() = default;
  virtual void step() = 0;
  void zero_grad(bool set_to_none = true);  // drops the gradients, or fills them with zeros

 protected:
  TensorList parameters_;
};

struct SGDOptions {
  double lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false, maximize = false;
};
class SGD : public Optimizer {
 public:
  SGD(TensorList parameters, SGDOptions o);
  void step() override;

 private:
  SGDOptions o_;
  TensorList momentum_;
};

struct AdamOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  bool amsgrad = false, maximize = false;
};
// weight_decay is added to the gradient.
class Adam : public Optimizer {
 public:
  Adam(TensorList parameters, AdamOptions o = {});
  void step() override { update(false); }

 protected:
  void update(bool decoupled_decay);

 private:
  struct State {
    Tensor m, v, v_max;
    int64_t step = 0;
  };
  AdamOptions o_;
  std::vector<State> state_;
};
struct AdamWOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 1e-2;
  bool amsgrad = false, maximize = false;
};
// weight_decay shrinks the parameter directly.
class AdamW : public Adam {
 public:
  AdamW(TensorList parameters, AdamWOptions o = {})
      : Adam(std::move(parameters), {o.lr, o.beta1, o.beta2, o.eps, o.weight_decay, o.amsgrad, o.maximize}) {}
  void step() override { update(true); }
};

}  // namespace ingot::optim
