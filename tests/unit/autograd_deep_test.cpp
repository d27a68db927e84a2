// Graphs as deep as programs are long: neither running nor freeing one may use the stack for its
// depth.
#include "autograd/engine.hpp"
#include "autograd/node.hpp"
#include "ingot/ingot.hpp"
#include "support/no_leaks.hpp"
#include "support/sanitized.hpp"

namespace ingot {
namespace {

using AutogradDeep = NoLeaks;

constexpr int kNodes = kAddressSanitized || kThreadSanitized ? 20'000 : 1'000'000;

TEST_F(AutogradDeep, ChainOfAddsRunsAndIsFreed) {
  Tensor x = zeros({1}, {.requires_grad = true});
  Tensor y = x;
  for (int i = 0; i < kNodes; i++) y = y + 1;
  y.backward();
  EXPECT_EQ(x.grad().item_double(), 1);
  EXPECT_EQ(y.item_double(), kNodes);
}

TEST_F(AutogradDeep, ChainThroughSavedTensorsIsFreed) {
  Tensor x = ones({1}, {.requires_grad = true});
  Tensor y = x;
  // Each node holds the one before by its edge and by the tensor it saved.
  for (int i = 0; i < kNodes / 10; i++) y = y * y;
  y.backward();
  y = Tensor();
}

TEST_F(AutogradDeep, ChainNeverRunIsFreed) {
  Tensor x = ones({1}, {.requires_grad = true});
  Tensor y = x;
  for (int i = 0; i < kNodes / 10; i++) y = y * y;
}

TEST_F(AutogradDeep, ChainOfInPlaceWritesOfAView) {
  Tensor x = ones({2}, {.requires_grad = true});
  Tensor y = x * 1;
  Tensor v = y.select(0, 0);
  for (int i = 0; i < kNodes / 50; i++) v.add_(1);
  y.backward(ones({2}));
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{1, 1}));
}

TEST_F(AutogradDeep, ChainOfCustomFunctionsThatCaptureTheirInput) {
  Tensor x = ones({1}, {.requires_grad = true});
  Tensor y = x;
  for (int i = 0; i < kNodes / 10; i++) {
    const Tensor input = y;  // kept alive by the backward function itself
    y = custom_function(
        "Keep", {y}, [](FunctionContext&, const TensorList& in) { return TensorList{in[0].clone()}; },
        [input](FunctionContext&, const TensorList& g) { return TensorList{g[0] + input * 0}; })[0];
  }
  y.backward();
  EXPECT_EQ(x.grad().item_double(), 1);
}

TEST_F(AutogradDeep, WideAndDeep) {
  // 2^n paths, n nodes: each node runs once.
  Tensor x = ones({1}, {.dtype = float64, .requires_grad = true});
  Tensor y = x;
  for (int i = 0; i < 50; i++) y = y + y;
  y.backward();
  EXPECT_EQ(x.grad().item_double(), 0x1p50);
}

}  // namespace
}  // namespace ingot
