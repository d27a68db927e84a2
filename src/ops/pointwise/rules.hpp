// What the pointwise families share: gradients that are conjugated, masked or zero, and names that
// stand for another op.
#pragma once
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "ops/common/composite.hpp"
#include "ingot/op/vjp.hpp"
#include "ops/common/gradient_terms.hpp"

namespace ingot {

// A saved tensor operand, conjugated, or the number that stood in its place.
inline Value conjugate(const Value& v) {
  if (v.is_tensor()) return Value(conjugate(v.tensor()));
  return v.is_complex() ? Value(std::conj(v.to_scalar().to_complex())) : v;
}

// `g` where the mask is set, zero elsewhere; and the other way round.
inline Tensor keep(const Tensor& mask, const Tensor& g) { return aten<"where.ScalarOther">(mask, g, 0); }
inline Tensor drop(const Tensor& mask, const Tensor& g) { return aten<"masked_fill.Scalar">(g, mask, 0); }

// The vjp of a function that is flat almost everywhere.
inline void zero_gradients(Vjp& v) {
  for (std::size_t i = 0; i < v.needs.size(); i++)
    if (v.needs[i]) v.set(static_cast<int>(i), aten<"zeros_like">(v.grad()));
}
// The vjp of the identity in argument 0.
inline void same_gradient(Vjp& v) { v.set(0, v.grad()); }

constexpr OpDef indexed(OpDef d, uint8_t backward_index) {
  d.grad.node_number = backward_index;
  return d;
}
// The result never requires grad, as PyTorch has it.
constexpr OpDef no_gradient(OpDef d) {
  d.grad.none = true;
  return d;
}
constexpr OpDef with_meta(OpDef d, void (*meta)(const Call&, Outputs&)) {
  d.meta = meta;
  return d;
}
constexpr OpDef with_kernel(OpDef d, void (*kernel)(const Call&, std::span<const Tensor>)) {
  d.kernel = kernel;
  return d;
}

// Another name of an op with the same arguments.
template <OpName Name>
constexpr OpDef alias_of(std::string_view schema) {
  OpDef d = composite(schema, [](const Call& c) -> Value { return call(op_ref<Name>(), c.args); });
  d.same_as = Name.text;
  return d;
}

}  // namespace ingot
