#include "nn/gradients.hpp"

#include <cmath>

#include "autograd/meta.hpp"
#include "base/error.hpp"
#include "ingot/autograd.hpp"
#include "ingot/ingot.hpp"
#include "ingot/nn/gradients.hpp"
#include "ingot/sparse.hpp"
#include "op/call.hpp"

namespace ingot {

void drop_gradients(const TensorList& parameters, bool set_to_none) {
  const NoGrad no_grad;
  for (const Tensor& p : parameters) {
    Tensor g = p.grad();
    if (!g.defined()) continue;
    if (set_to_none) {
      p.set_grad({});
      continue;
    }
    if (g.requires_grad()) g.detach_();
    g.zero_();
  }
}

namespace nn {

static TensorList gradients_of(const TensorList& parameters) {
  TensorList r;
  for (const Tensor& p : parameters)
    if (const Tensor g = p.grad(); g.defined()) r.push_back(g);
  return r;
}

Tensor get_total_norm(const TensorList& tensors, double norm_type, bool error_if_nonfinite) {
  if (tensors.empty()) return zeros({});
  TensorList norms;
  for (const Tensor& t : tensors)
    norms.push_back(aten<"linalg_vector_norm">(is_sparse(t) ? sparse_values(coalesce(t)) : t, norm_type));
  for (Tensor& n : norms) n = n.to(norms[0].device());
  const Tensor total = aten<"linalg_vector_norm">(stack(norms), norm_type);
  INGOT_REQUIRE(!error_if_nonfinite || std::isfinite(total.item_double()), "The total norm of order ", norm_type,
                " for gradients from `parameters` is non-finite, so it cannot be clipped. To disable this error and scale the "
                "gradients by the non-finite norm anyway, set `error_if_nonfinite=False`");
  return total;
}

Tensor clip_grad_norm_(const TensorList& parameters, double max_norm, double norm_type, bool error_if_nonfinite) {
  const NoGrad no_grad;
  TensorList gradients = gradients_of(parameters);
  const Tensor total = get_total_norm(gradients, norm_type, error_if_nonfinite);
  const Tensor factor = clamp(max_norm / (total + 1e-6), {}, 1.0);
  for (Tensor& g : gradients) {
    if (is_sparse(g)) g.mul_(factor.item());
    else g.mul_(factor.to(g.device()));
  }
  return total;
}

void clip_grad_value_(const TensorList& parameters, double clip_value) {
  const NoGrad no_grad;
  for (const Tensor& g : gradients_of(parameters)) aten_value<"clamp_">(g, -clip_value, clip_value);
}

Tensor parameters_to_vector(const TensorList& parameters) {
  TensorList flat;
  for (const Tensor& p : parameters) flat.push_back(p.reshape({-1}));
  return cat(flat);
}

void vector_to_parameters(const Tensor& vector, const TensorList& parameters) {
  const NoGrad no_grad;
  Int total = 0, at = 0;
  for (const Tensor& p : parameters) total = total + p.numel();
  INGOT_REQUIRE(vector.dim() == 1 && vector.size(0) == total, "vector_to_parameters: expected a vector of ", total,
                " elements, found size ", vector.sizes());
  for (Tensor p : parameters) {
    p.copy_(vector.narrow(0, at, p.numel()).view(p.sizes()));
    at = at + p.numel();
  }
}

}  // namespace nn
}  // namespace ingot
