// Optimizers with PyTorch's update rules. step() reads each parameter's grad(); a parameter without one is left alone.
#pragma once
#include "ingot/ingot.hpp"

namespace ingot::optim {

class Optimizer {
 public:
  explicit Optimizer(TensorList parameters) : parameters_(std::move(parameters)) {}
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  virtual ~Optimizer() = default;
  virtual void step() = 0;
  void zero_grad();  // drops the gradients

 protected:
  TensorList parameters_;
};

struct SGDOptions {
  double lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;
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
  bool amsgrad = false;
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
// weight_decay shrinks the parameter directly.
class AdamW : public Adam {
 public:
  AdamW(TensorList parameters, AdamOptions o = {.weight_decay = 1e-2}) : Adam(std::move(parameters), o) {}
  void step() override { update(true); }
};

}  // namespace ingot::optim
