// Default initial values of layers.
#pragma once
#include <cmath>

#include "ingot/ingot.hpp"

namespace ingot::nn {

// Uniform in [-bound, bound): what PyTorch's default initialisation comes to.
inline Tensor uniform(const Shape& size, double bound) {
  NoGrad no_grad;
  return rand(size) * (2 * bound) - bound;
}
inline double inverse_sqrt(int64_t fan_in) { return fan_in > 0 ? 1 / std::sqrt(static_cast<double>(fan_in)) : 0; }

}  // namespace ingot::nn
