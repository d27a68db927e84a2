// Small terms that gradient rules of several families are made of.
#pragma once
#include "base/dtype.hpp"
#include "ingot/ingot.hpp"
#include "ingot/op/vjp.hpp"
#include "op/call.hpp"

namespace ingot {

// The conjugate where the type has one: gradients flow through it.
inline Tensor conjugate(const Tensor& t) { return t.is_complex() ? aten<"_conj_physical">(t) : t; }
// The conjugate transpose of the last two dims.
inline Tensor adjoint(const Tensor& t) { return conjugate(t.transpose(-2, -1)); }
// Gradient t of x where the forward had `factor` times x; no op for a factor of 1.
inline Tensor times_conjugate(const Tensor& t, const Value& factor) {
  if (factor.is_complex()) return aten<"mul.Tensor">(t, Value(std::conj(factor.to_scalar().to_complex())));
  if (factor.is_int() ? factor.to_int().same(1) : factor.is_float() && factor.to_float().same(1.0)) return t;
  return aten<"mul.Tensor">(t, factor);
}
// The sum of terms of which either may be none.
inline Tensor plus(const Tensor& a, const Tensor& b) { return !a.defined() ? b : !b.defined() ? a : a + b; }

}  // namespace ingot
