#include "ops/network/normalization.hpp"

#include "ingot/ingot.hpp"
#include "base/dtype.hpp"
#include "ops/common/gradient_terms.hpp"

namespace ingot {

DType statistics_type(DType t) { return is_reduced_floating(t) ? DType::f32 : t; }
Tensor as_type(const Tensor& t, DType dtype) { return !t.defined() || t.dtype() == dtype ? t : aten<"_to_copy">(t, dtype); }

Statistics statistics(const Tensor& x, const Shape& dims, double eps) {
  const TensorList r = atens<"var_mean.correction">(x, dims, 0, true);
  return {r[1], aten<"rsqrt">(aten<"add.Scalar">(r[0], eps)), r[0]};
}

Tensor normalized(const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight, const Tensor& bias) {
  Tensor y = (x - mean) * rstd;
  if (weight.defined()) y = y * weight;
  if (bias.defined()) y = y + bias;
  return y;
}

namespace {
Tensor mean_over(const Tensor& t, const Shape& dims) { return aten<"mean.dim">(t, dims, true); }
// The part of v that a normalisation lets through: no mean, nothing along xhat. Symmetric.
Tensor projected(const Tensor& v, const Tensor& xhat, const Shape& dims) {
  return v - mean_over(v, dims) - xhat * mean_over(v * xhat, dims);
}
}  // namespace

Tensor normalization_gradient(const Tensor& a, const Tensor& xhat, const Tensor& rstd, const Shape& dims) {
  return rstd * projected(a, xhat, dims);
}

// With P the projection above and a = g * weight, the first order is gx = r P(a), gw = sum g xhat,
// gb = sum g. Their inner products with u, p, q are differentiated by g, weight and x; d xhat = r
// P(dx) and dr = -r^2 mean(xhat dx).
SecondOrder normalization_second_order(const Tensor& g, const Tensor& xhat, const Tensor& r, const Tensor& weight,
                                       const Tensor& u, const Tensor& p, const Tensor& q, const Shape& dims, bool fixed) {
  SecondOrder s;
  Tensor into_xhat;  // what flows to xhat
  if (u.defined()) {
    const Tensor pu = r * (fixed ? u : projected(u, xhat, dims));
    s.grad_out = weight.defined() ? pu * weight : pu;
    if (weight.defined()) s.weight = pu * g;
    if (!fixed) {
      const Tensor a = weight.defined() ? g * weight : g;
      into_xhat = -(r * (u * mean_over(a * xhat, dims) + a * mean_over(u * xhat, dims)));
      s.x = -(r * r * xhat * mean_over(u * projected(a, xhat, dims), dims));
    }
  }
  if (p.defined()) {
    s.grad_out = plus(s.grad_out, p * xhat);
    into_xhat = plus(into_xhat, p * g);
  }
  if (q.defined()) s.grad_out = plus(s.grad_out, aten<"expand">(q, g.sizes()));
  if (into_xhat.defined()) s.x = plus(s.x, r * (fixed ? into_xhat : projected(into_xhat, xhat, dims)));
  return s;
}

}  // namespace ingot
