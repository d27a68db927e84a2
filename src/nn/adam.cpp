#include <cmath>

#include "ingot/ingot.hpp"
#include "ingot/optim/optimizers.hpp"
#include "nn/first_order.hpp"

namespace ingot::optim {
namespace {

enum Slot : std::size_t { kAverage, kSquare, kLargest };
const std::vector<const char*> kSlots = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};

template <class O>
void check_options(const O& o) {
  require_lr(o.lr);
  require_eps(o.eps);
  require_betas(o.beta1, o.beta2);
  require_weight_decay(o.weight_decay);
}
template <class O>
std::vector<NamedOption> names_of(O& o) {
  return {{"lr", &o.lr},
          {"betas.0", &o.beta1},
          {"betas.1", &o.beta2},
          {"eps", &o.eps},
          {"weight_decay", &o.weight_decay},
          {"amsgrad", &o.amsgrad},
          {"maximize", &o.maximize}};
}

template <class O, class State>
void update(const O& o, bool decoupled_decay, std::size_t i, const Tensor& parameter, const Tensor& gradient, State& s) {
  require_dense(gradient, "Adam");
  const auto& slots = s.slots;
  zeros_if_new(s.slots[kAverage], parameter);
  zeros_if_new(s.slots[kSquare], parameter);
  if (o.amsgrad) zeros_if_new(s.slots[kLargest], parameter);
  require_same_dtype(slots[kAverage], parameter, "Adam", i);
  Tensor p = as_real(parameter), g = as_real(gradient), m = as_real(slots[kAverage]), v = as_real(slots[kSquare]);
  s.step++;
  if (o.maximize) g = g.neg();
  if (o.weight_decay != 0) {
    if (decoupled_decay) p.mul_(Scalar(1 - o.lr * o.weight_decay));
    else g = g.add(p, o.weight_decay);
  }
  m.mul_(Scalar(o.beta1)).add_(g, 1 - o.beta1);
  v.mul_(Scalar(o.beta2)).add_(g * g, 1 - o.beta2);
  const double c1 = 1 - std::pow(o.beta1, static_cast<double>(s.step)), c2 = 1 - std::pow(o.beta2, static_cast<double>(s.step));
  if (o.amsgrad) {
    Tensor largest = as_real(slots[kLargest]);
    v = largest.copy_(maximum(largest, v));
  }
  p.add_(m / (v.sqrt() / std::sqrt(c2) + o.eps), -o.lr / c1);
}

}  // namespace

void AdamOptions::check() const { check_options(*this); }
void AdamWOptions::check() const { check_options(*this); }
std::vector<NamedOption> AdamOptions::named() { return names_of(*this); }
std::vector<NamedOption> AdamWOptions::named() { return names_of(*this); }

Adam::Adam(TensorList parameters, AdamOptions o) : OptimizerOf(std::move(parameters), o, kSlots, true) {}
void Adam::step() {
  each([&](const AdamOptions& o, std::size_t i, const Tensor& p, const Tensor& g) { update(o, false, i, p, g, states_[i]); });
}
AdamW::AdamW(TensorList parameters, AdamWOptions o) : OptimizerOf(std::move(parameters), o, kSlots, true) {}
void AdamW::step() {
  each([&](const AdamWOptions& o, std::size_t i, const Tensor& p, const Tensor& g) { update(o, true, i, p, g, states_[i]); });
}

}  // namespace ingot::optim
