// What batch, layer and group norm share: y = xhat * weight + bias with xhat = (x - mean) * rstd,
// where mean and rstd are statistics of x over some dims. Statistics and parameters are given in a
// shape that broadcasts to x.
#pragma once

#include "ingot/op/vjp.hpp"
#include "op/call.hpp"

namespace ingot {

// The type statistics are computed in: float for everything smaller.
DType statistics_type(DType t);
Tensor as_type(const Tensor& t, DType dtype);

struct Statistics {
  Tensor mean, rstd, var;  // sizes 1 in the reduced dims; var is the biased one
};
Statistics statistics(const Tensor& x, const Shape& dims, double eps);

// xhat * weight + bias; weight and bias may be undefined.
Tensor normalized(const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight, const Tensor& bias);

// The gradient of x: rstd * (a - mean(a) - xhat * mean(a * xhat)), means over `dims` (n elements),
// a = grad * weight.
Tensor normalization_gradient(const Tensor& a, const Tensor& xhat, const Tensor& rstd, const Shape& dims);

// The gradient of those gradients. `u`, `p`, `q`: gradients of the x, weight and bias gradients,
// broadcastable to x or undefined; `weight` broadcastable or undefined. `fixed`: mean and rstd are
// given numbers, not statistics of x.
struct SecondOrder {
  Tensor grad_out, x, weight;  // weight in x's shape: sum it back. Undefined where nothing flows
};
SecondOrder normalization_second_order(const Tensor& grad_out, const Tensor& xhat, const Tensor& rstd, const Tensor& weight,
                                       const Tensor& u, const Tensor& p, const Tensor& q, const Shape& dims, bool fixed);

}  // namespace ingot
