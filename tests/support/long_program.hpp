// A program of many ops, as a network has them: what tracing costs is measured with it.
#pragma once
#include "graph/trace.hpp"
#include "ingot/ingot.hpp"

namespace ingot::testing {

// Ten calls a round that reach a graph, on tensors of one size: products, broadcasts, views and
// reductions.
inline TensorList hundred_rounds(const TensorList& in) {
  Tensor x = in[0];
  const Tensor w = in[1], b = in[2];
  for (int round = 0; round < 100; round++) {
    const Tensor y = x.mm(w).add(b).tanh();
    const Tensor z = y.t().unsqueeze(0).squeeze(0).t();
    x = z.mul(x).sub(y.mean({1}, true));
  }
  return {x};
}
inline TensorList hundred_rounds_inputs() { return {ones({6, 8}), ones({8, 8}), ones({8})}; }

}  // namespace ingot::testing
