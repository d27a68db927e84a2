// SGD, RMSprop, Adagrad, Lion: rules of a line or two a parameter.
#include "nn/first_order.hpp"

#include "ingot/ingot.hpp"
#include "ingot/optim/optimizers.hpp"

namespace ingot::optim {

// ---- SGD

void SGDOptions::check() const {
  require_lr(lr);
  require_momentum(momentum);
  require_weight_decay(weight_decay);
  INGOT_REQUIRE(!nesterov || (momentum > 0 && dampening == 0), "Nesterov momentum requires a momentum and zero dampening");
}
std::vector<NamedOption> SGDOptions::named() {
  return {{"lr", &lr},
          {"momentum", &momentum},
          {"dampening", &dampening},
          {"weight_decay", &weight_decay},
          {"nesterov", &nesterov},
          {"maximize", &maximize}};
}
SGD::SGD(TensorList parameters, SGDOptions o) : OptimizerOf(std::move(parameters), o, {"momentum_buffer"}, false) {}

void SGD::step() {
  each([&](const SGDOptions& o, std::size_t i, Tensor p, Tensor g) {
    if (o.maximize) g = g.neg();
    if (o.weight_decay != 0) g = g.add(p, o.weight_decay);
    if (o.momentum != 0) {
      Tensor& m = states_[i].slots[0];
      if (!m.defined()) m = g.clone();
      else m.mul_(Scalar(o.momentum)).add_(g, 1 - o.dampening);
      if (is_sparse(m)) m = coalesce(m);  // or it would grow with every step
      g = o.nesterov ? g.add(m, o.momentum) : m;
    }
    p.add_(g, -o.lr);
  });
}

// ---- RMSprop

void RMSpropOptions::check() const {
  require_lr(lr);
  require_eps(eps);
  require_momentum(momentum);
  require_weight_decay(weight_decay);
  INGOT_REQUIRE(alpha >= 0, "Invalid alpha value: ", alpha);
}
std::vector<NamedOption> RMSpropOptions::named() {
  return {{"lr", &lr},
          {"alpha", &alpha},
          {"eps", &eps},
          {"weight_decay", &weight_decay},
          {"momentum", &momentum},
          {"centered", &centered},
          {"maximize", &maximize}};
}
RMSprop::RMSprop(TensorList parameters, RMSpropOptions o)
    : OptimizerOf(std::move(parameters), o, {"square_avg", "momentum_buffer", "grad_avg"}, true) {}

void RMSprop::step() {
  each([&](const RMSpropOptions& o, std::size_t i, const Tensor& parameter, Tensor g) {
    require_dense(g, "RMSprop");
    State& s = states_[i];
    Tensor p = as_real(parameter), square = as_real(zeros_if_new(s.slots[0], parameter));
    require_same_dtype(square, p, "RMSprop", i);
    s.step++;
    if (o.maximize) g = g.neg();
    if (o.weight_decay != 0) g = g.add(parameter, o.weight_decay);
    g = as_real(g);
    square.mul_(Scalar(o.alpha)).add_(g * g, 1 - o.alpha);
    Tensor variance = square;
    if (o.centered) {
      Tensor mean = as_real(zeros_if_new(s.slots[2], parameter));
      mean.mul_(Scalar(o.alpha)).add_(g, 1 - o.alpha);
      variance = square - mean * mean;
    }
    const Tensor size = variance.sqrt() + o.eps;
    if (o.momentum > 0) {
      Tensor m = as_real(zeros_if_new(s.slots[1], parameter));
      p.add_(m.mul_(Scalar(o.momentum)).add_(g / size), -o.lr);
    } else {
      p.add_(g / size, -o.lr);
    }
  });
}

// ---- Adagrad

void AdagradOptions::check() const {
  require_lr(lr);
  INGOT_REQUIRE(lr_decay >= 0, "Invalid lr_decay value: ", lr_decay);
  require_weight_decay(weight_decay);
  INGOT_REQUIRE(initial_accumulator_value >= 0, "Invalid initial_accumulator_value value: ", initial_accumulator_value);
  require_eps(eps);
}
std::vector<NamedOption> AdagradOptions::named() {
  return {{"lr", &lr},
          {"lr_decay", &lr_decay},
          {"weight_decay", &weight_decay},
          {"initial_accumulator_value", &initial_accumulator_value},
          {"eps", &eps},
          {"maximize", &maximize}};
}
Adagrad::Adagrad(TensorList parameters, AdagradOptions o) : OptimizerOf(std::move(parameters), o, {"sum"}, true) {}

// The rows of `t` at the places that a coalesced sparse gradient has.
static TensorList places(const Tensor& gradient) { return sparse_indices(gradient).unbind(0); }

void Adagrad::step() {
  each([&](const AdagradOptions& o, std::size_t i, const Tensor& parameter, Tensor g) {
    State& s = states_[i];
    if (!s.slots[0].defined()) {
      const std::complex<double> start(o.initial_accumulator_value, o.initial_accumulator_value);
      s.slots[0] = parameter.is_complex() ? full_like(parameter, start) : full_like(parameter, o.initial_accumulator_value);
    }
    Tensor p = as_real(parameter), sum = as_real(s.slots[0]);
    require_same_dtype(sum, p, "Adagrad", i);
    s.step++;
    const double lr = o.lr / (1 + static_cast<double>(s.step - 1) * o.lr_decay);
    if (o.maximize) g = g.neg();
    if (is_sparse(g)) {
      INGOT_REQUIRE(o.weight_decay == 0, "weight_decay option is not compatible with sparse gradients");
      g = coalesce(g);
      const Tensor values = sparse_values(g);
      sum.add_(sparse_coo_tensor(sparse_indices(g), values * values, g.sizes()));
      const Tensor size = index(sum, places(g)).sqrt() + o.eps;
      p.add_(sparse_coo_tensor(sparse_indices(g), values / size, g.sizes()), -lr);
      return;
    }
    if (o.weight_decay != 0) g = g.add(parameter, o.weight_decay);
    g = as_real(g);
    sum.add_(g * g);
    p.add_(g / (sum.sqrt() + o.eps), -lr);
  });
}

// ---- Lion

void LionOptions::check() const {
  require_lr(lr);
  require_betas(beta1, beta2);
  require_weight_decay(weight_decay);
}
std::vector<NamedOption> LionOptions::named() {
  return {{"lr", &lr}, {"betas.0", &beta1}, {"betas.1", &beta2}, {"weight_decay", &weight_decay}, {"maximize", &maximize}};
}
Lion::Lion(TensorList parameters, LionOptions o) : OptimizerOf(std::move(parameters), o, {"exp_avg"}, false) {}

void Lion::step() {
  each([&](const LionOptions& o, std::size_t i, const Tensor& parameter, Tensor g) {
    require_dense(g, "Lion");
    Tensor p = as_real(parameter), m = as_real(zeros_if_new(states_[i].slots[0], parameter));
    require_same_dtype(m, p, "Lion", i);
    g = as_real(o.maximize ? g.neg() : g);
    if (o.weight_decay != 0) p.mul_(Scalar(1 - o.lr * o.weight_decay));
    p.add_(sign((m * o.beta1).add(g, 1 - o.beta1)), -o.lr);
    m.mul_(Scalar(o.beta2)).add_(g, 1 - o.beta2);
  });
}

}  // namespace ingot::optim
