// Gradients against central differences, in double.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "ingot/ingot.hpp"

namespace ingot {

using CheckedFunction = std::function<Tensor(const Tensor&)>;

// Different for each element, so that no two errors cancel.
inline Tensor weights_like(const Tensor& t) {
  std::vector<double> w;
  for (int64_t i = 0; i < t.numel().value(); i++) w.push_back(1 + 0.25 * static_cast<double>(i % 7));
  return tensor(w, t.sizes(), float64);
}
inline double weighted_sum(const Tensor& t) {
  const std::vector<double> v = t.to_vector<double>(), w = weights_like(t).to_vector<double>();
  double s = 0;
  for (std::size_t i = 0; i < v.size(); i++) s += v[i] * w[i];
  return s;
}

// d(Σ weights·f(x))/dx by autograd. f gets a leaf that requires grad; zeros if its result does not.
inline Tensor weighted_gradient(const CheckedFunction& f, const Tensor& leaf, bool create_graph) {
  const Tensor r = f(leaf);
  if (!r.requires_grad()) return zeros(leaf.sizes(), {.dtype = float64});
  const Tensor g = grad({r}, {leaf}, {weights_like(r)}, {.create_graph = create_graph, .allow_unused = true})[0];
  return g.defined() ? g : zeros(leaf.sizes(), {.dtype = float64});
}

// Fails the test where the gradient of f at x is not what differences say; `orders`: how often to
// differentiate.
inline void check_gradient(const CheckedFunction& f, const Tensor& x, int orders = 2) {
  auto leaf = [](const Tensor& t) { return t.detach().clone().requires_grad_(); };
  const std::vector<double> found = weighted_gradient(f, leaf(x), false).to_vector<double>();
  const double step = 1e-5;
  for (std::size_t i = 0; i < found.size(); i++) {
    auto shifted = [&](double by) {
      const Tensor p = x.detach().clone().contiguous();
      p.data<double>()[i] += by;
      return weighted_sum(f(leaf(p)));
    };
    const double expected = (shifted(step) - shifted(-step)) / (2 * step);
    EXPECT_NEAR(found[i], expected, 1e-6 * (1 + std::abs(expected))) << "element " << i;
  }
  if (orders > 1) check_gradient([&](const Tensor& t) { return weighted_gradient(f, t, true); }, x, orders - 1);
}

}  // namespace ingot
