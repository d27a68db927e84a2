#include "ingot/op/vjp.hpp"

#include "base/error.hpp"
#include "op/call.hpp"

namespace ingot {

Tensor Vjp::grad_or_zeros(int k) const {
  const Tensor& g = grad(k);
  if (g.defined()) return g;
  const Geometry& want = result_geom(k);
  return aten<"zeros">(want.sizes, want.dtype);
}

void derivative_not_implemented(std::string_view what) {
  throw_user_error(text("the derivative for '", what, "' is not implemented."));
}

void refuse_vjp(Vjp& v) { derivative_not_implemented(v.op->schema.name); }

}  // namespace ingot
