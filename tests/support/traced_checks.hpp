// What a function computes and what its trace does, on the same inputs.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "graph/interpret.hpp"
#include "graph/trace.hpp"
#include "graph/verify.hpp"
#include "ingot/autograd.hpp"
#include "ingot/ingot.hpp"
#include "ingot/transforms.hpp"

namespace ingot::testing {

inline TensorList run_graph(const Graph& g, const TensorList& in) {
  TensorList out;
  for (const Value& v : Interpreter(g).run(Values(in.begin(), in.end()))) out.push_back(v.tensor());
  return out;
}
inline void expect_equal(const TensorList& want, const TensorList& got) {
  ASSERT_EQ(want.size(), got.size());
  for (std::size_t k = 0; k < want.size(); k++) {
    EXPECT_EQ(want[k].sizes(), got[k].sizes());
    const auto a = want[k].to_vector<double>(), b = got[k].to_vector<double>();
    for (std::size_t i = 0; i < a.size(); i++)
      EXPECT_NEAR(a[i], b[i], 1e-12 * (1 + std::abs(a[i]))) << "result " << k << " element " << i;
  }
}

// The traced program, plain and functionalized, on inputs it was not traced with.
inline void expect_traced(const TensorFunction& f, const TensorList& examples, const std::vector<TensorList>& inputs) {
  for (const TensorFunction& g : {f, functionalize(f)}) {
    const Traced t = trace(g, examples);
    verify(t.graph);
    for (const TensorList& in : inputs) expect_equal(f(in), run_graph(t.graph, in));
  }
}
// Gradients of the sum of all results, eager against traced: the backward is part of the graph.
inline void expect_gradients(const TensorFunction& f, const TensorList& examples, const std::vector<TensorList>& inputs) {
  const TensorFunction gradients = [&](const TensorList& in) {
    TensorList x;
    for (const Tensor& t : in) x.push_back(t.detach().requires_grad_());
    Tensor total;
    for (const Tensor& y : f(x)) total = total.defined() ? total + y.sin().sum() : y.sin().sum();
    return grad({total}, x, {}, {.allow_unused = false});
  };
  expect_traced(gradients, examples, inputs);
}

}  // namespace ingot::testing
