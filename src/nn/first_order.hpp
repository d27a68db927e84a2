// What the update rules share.
#pragma once
#include "base/error.hpp"
#include "ingot/sparse.hpp"
#include "op/call.hpp"

namespace ingot::optim {

// The square of a complex number is no size of it: its parts are two numbers.
inline Tensor as_real(const Tensor& t) { return t.is_complex() ? aten<"view_as_real">(t) : t; }

// What a step fills a slot with before it uses it first.
inline Tensor& zeros_if_new(Tensor& slot, const Tensor& like) {
  if (!slot.defined()) slot = aten<"zeros_like">(like);
  return slot;
}

inline void require_dense(const Tensor& gradient, const char* optimizer) {
  INGOT_REQUIRE(!is_sparse(gradient), optimizer, " does not support sparse gradients; use SGD, or a layer with sparse = false");
}

// State made before the module was converted to another dtype.
inline void require_same_dtype(const Tensor& state, const Tensor& p, const char* optimizer, std::size_t i) {
  INGOT_REQUIRE(state.dtype() == p.dtype(), optimizer, ": parameter ", i, " was ", state.dtype(),
                " when its state was made, and is ", p.dtype(), " now. Make a new optimizer after the module was converted.");
}

// Refusals in PyTorch's words. NaN is refused, too.
inline void require_lr(double lr) { INGOT_REQUIRE(lr >= 0, "Invalid learning rate: ", lr); }
inline void require_weight_decay(double decay) { INGOT_REQUIRE(decay >= 0, "Invalid weight_decay value: ", decay); }
inline void require_eps(double eps) { INGOT_REQUIRE(eps >= 0, "Invalid epsilon value: ", eps); }
inline void require_momentum(double momentum) { INGOT_REQUIRE(momentum >= 0, "Invalid momentum value: ", momentum); }
inline void require_betas(double beta1, double beta2) {
  INGOT_REQUIRE(beta1 >= 0 && beta1 < 1, "Invalid beta parameter at index 0: ", beta1);
  INGOT_REQUIRE(beta2 >= 0 && beta2 < 1, "Invalid beta parameter at index 1: ", beta2);
}

}  // namespace ingot::optim
