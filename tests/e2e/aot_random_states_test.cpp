// Random numbers that a compiled backward draws again (R127): libraries save and set the state of
// the stream.
#include <gtest/gtest.h>

#include "compiler/aot_compiler.hpp"
#include "graph/save_policy.hpp"
#include "graph/text.hpp"
#include "ingot/autograd.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "support/no_leaks.hpp"

namespace ingot::aot {
namespace {

using AotCompiledRandomStates = NoLeaks;

TensorList checkpointed(const TensorList& in) {
  Tensor h = in[0];
  for (std::size_t k = 1; k < 3; k++) {
    const CheckpointScope region;
    h = dropout(h.mm(in[k]), 0.5) * aten<"rand_like">(h);
    h = h.sin();
  }
  return {h.exp() * rand({4, 4})};
}

// Results, gradients, and the numbers that come next. Between the passes others draw.
std::vector<std::vector<double>> run_steps(const TensorFunction& f) {
  TensorList in;
  for (int k = 0; k < 3; k++) in.push_back((ones({4, 4}) * (0.1 * (k + 1))).detach().requires_grad_());
  manual_seed(11);
  const Tensor y = f(in)[0];
  rand({7});
  y.sum().backward();
  std::vector<std::vector<double>> all{y.detach().to_vector<double>()};
  for (const Tensor& t : in) all.push_back(t.grad().to_vector<double>());
  all.push_back(rand({3}).to_vector<double>());
  return all;
}

TEST_F(AotCompiledRandomStates, R127_ALibraryDrawsTheSameNumbersAgain) {
  const AotFunction compiled = memory_efficient_fusion(checkpointed);
  const auto want = run_steps(checkpointed), found = run_steps([&](const TensorList& in) { return compiled(in); });
  ASSERT_EQ(found.size(), want.size());
  for (std::size_t k = 0; k < want.size(); k++) {
    ASSERT_EQ(found[k].size(), want[k].size());
    for (std::size_t i = 0; i < want[k].size(); i++) EXPECT_NEAR(found[k][i], want[k][i], 1e-5) << k << " " << i;
  }
  EXPECT_EQ(found.back(), want.back()) << "the stream goes on from the same place";
}

}  // namespace
}  // namespace ingot::aot
