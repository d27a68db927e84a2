#include "ingot/optim.hpp"

#include <cmath>
#include <set>

#include "base/error.hpp"
#include "ingot/sparse.hpp"
#include "nn/gradients.hpp"
#include "op/call.hpp"

namespace ingot::optim {

Optimizer::Optimizer(TensorList parameters) : parameters_(std::move(parameters)) {
  INGOT_REQUIRE(!parameters_.empty(), "optimizer got an empty parameter list");
  std::set<TensorImpl*> seen;
  for (std::size_t i = 0; i < parameters_.size(); i++) {
    const Tensor& p = parameters_[i];
    INGOT_REQUIRE(p.defined(), "optimizer can only optimize Tensors, but parameter ", i, " is undefined");
    INGOT_REQUIRE(p.is_leaf(), "can't optimize a non-leaf Tensor: parameter ", i, " is the result of ", p.grad_fn_name());
    INGOT_REQUIRE(seen.insert(p.impl()).second, "optimizer contains a parameter group with duplicate parameters: parameter ", i,
                  " was given before");
  }
}

void Optimizer::zero_grad(bool set_to_none) { drop_gradients(parameters_, set_to_none); }

SGD::SGD(TensorList parameters, SGDOptions o) : Optimizer(std::move(parameters)), o_(o), momentum_(parameters_.size()) {
  INGOT_REQUIRE(o.lr >= 0, "Invalid learning rate: ", o.lr);
  INGOT_REQUIRE(o.momentum >= 0, "Invalid momentum value: ", o.momentum);
  INGOT_REQUIRE(o.weight_decay >= 0, "Invalid weight_decay value: ", o.weight_decay);
  INGOT_REQUIRE(!o.nesterov || (o.momentum > 0 && o.dampening == 0), "Nesterov momentum requires a momentum and zero dampening");
}

void SGD::step() {
  NoGrad no_grad;
  for (std::size_t i = 0; i < parameters_.size(); i++) {
    Tensor& p = parameters_[i];
    Tensor g = p.grad();
    if (!g.defined()) continue;
    if (o_.maximize) g = g.neg();
    if (o_.weight_decay != 0) g = g.add(p, o_.weight_decay);
    if (o_.momentum != 0) {
      Tensor& m = momentum_[i];
      if (!m.defined()) m = g.clone();
      else m.mul_(Scalar(o_.momentum)).add_(g, 1 - o_.dampening);
      if (is_sparse(m)) m = coalesce(m);  // or it would grow with every step
      g = o_.nesterov ? g.add(m, o_.momentum) : m;
    }
    p.add_(g, -o_.lr);
  }
}

Adam::Adam(TensorList parameters, AdamOptions o) : Optimizer(std::move(parameters)), o_(o), state_(parameters_.size()) {
  INGOT_REQUIRE(o.lr >= 0, "Invalid learning rate: ", o.lr);
  INGOT_REQUIRE(o.eps >= 0, "Invalid epsilon value: ", o.eps);
  INGOT_REQUIRE(o.beta1 >= 0 && o.beta1 < 1, "Invalid beta parameter at index 0: ", o.beta1);
  INGOT_REQUIRE(o.beta2 >= 0 && o.beta2 < 1, "Invalid beta parameter at index 1: ", o.beta2);
  INGOT_REQUIRE(o.weight_decay >= 0, "Invalid weight_decay value: ", o.weight_decay);
}

void Adam::update(bool decoupled_decay) {
  NoGrad no_grad;
  // The square of a complex number is no size of it: its parts are two numbers.
  const auto real = [](const Tensor& t) { return t.is_complex() ? aten<"view_as_real">(t) : t; };
  for (std::size_t i = 0; i < parameters_.size(); i++) {
    Tensor p = parameters_[i], g = p.grad();
    if (!g.defined()) continue;
    INGOT_REQUIRE(!is_sparse(g), "Adam does not support sparse gradients; use SGD, or a layer with sparse = false");
    p = real(p);
    g = real(g);
    State& s = state_[i];
    if (!s.m.defined()) {
      s.m = zeros_like(p);
      s.v = zeros_like(p);
      if (o_.amsgrad) s.v_max = zeros_like(p);
    }
    INGOT_REQUIRE(s.m.dtype() == p.dtype(), "Adam: parameter ", i, " was ", s.m.dtype(), " when its state was made, and is ",
                  p.dtype(), " now. Make a new optimizer after the module was converted.");
    s.step++;
    if (o_.maximize) g = g.neg();
    if (o_.weight_decay != 0) {
      if (decoupled_decay) p.mul_(Scalar(1 - o_.lr * o_.weight_decay));
      else g = g.add(p, o_.weight_decay);
    }
    s.m.mul_(Scalar(o_.beta1)).add_(g, 1 - o_.beta1);
    s.v.mul_(Scalar(o_.beta2)).add_(g * g, 1 - o_.beta2);
    const double c1 = 1 - std::pow(o_.beta1, static_cast<double>(s.step)),
                 c2 = 1 - std::pow(o_.beta2, static_cast<double>(s.step));
    Tensor v = s.v;
    if (o_.amsgrad) v = s.v_max = maximum(s.v_max, s.v);
    p.add_(s.m / (v.sqrt() / std::sqrt(c2) + o_.eps), -o_.lr / c1);
  }
}

}  // namespace ingot::optim
