// What the tests of autograd begin and end with.
#pragma once
#include <vector>

#include "ingot/ingot.hpp"

namespace ingot {

using Doubles = std::vector<double>;

inline Tensor leaf(const Doubles& values) { return tensor(values, float64).requires_grad_(); }
inline Tensor leaf(const Doubles& values, const Shape& size) { return tensor(values, size, float64).requires_grad_(); }
inline Doubles values(const Tensor& t) { return t.to_vector<double>(); }

}  // namespace ingot
