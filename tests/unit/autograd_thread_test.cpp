// Several threads: graphs of their own over shared leaves.
#include <atomic>
#include <thread>

#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "support/in_threads.hpp"
#include "support/no_leaks.hpp"

namespace ingot {
namespace {

using AutogradThreads = NoLeaks;
using testing::in_threads;

TEST_F(AutogradThreads, BackwardsAddUpInSharedLeaves) {
  const Tensor w = tensor({1, 2}, float64).requires_grad_(), b = tensor({0}, float64).requires_grad_();
  constexpr int kThreads = 4, kRounds = 100;
  in_threads(kThreads, [&](int i) {
    const Tensor x = tensor({1.0 + i, 2.0}, float64);
    for (int round = 0; round < kRounds; round++) (w * x + b).sum().backward();
  });
  EXPECT_EQ(w.grad().to_vector<double>(), (std::vector<double>{(1 + 2 + 3 + 4) * kRounds, 2 * kThreads * kRounds}));
  EXPECT_EQ(b.grad().item_double(), 2 * kThreads * kRounds);
}

TEST_F(AutogradThreads, GraphsBuiltBeforeRunAtOnce) {
  const Tensor w = tensor({3}, float64).requires_grad_();
  TensorList losses;
  for (int i = 0; i < 8; i++) {
    Tensor y = w * w;
    for (int k = 0; k < 20; k++) y = y * 1 + w;
    losses.push_back(y);
  }
  in_threads(8, [&](int i) { losses[static_cast<std::size_t>(i)].backward(); });
  EXPECT_EQ(w.grad().item_double(), 8 * (6 + 20));
}

TEST_F(AutogradThreads, GradReturnsToItsThread) {
  const Tensor w = tensor({3}, float64).requires_grad_();
  std::atomic<int> wrong = 0;
  in_threads(4, [&](int i) {
    for (int round = 0; round < 50; round++) {
      const Tensor g = grad({w * w * (1.0 + i)}, {w}, {}, {.create_graph = true})[0];
      if (g.item_double() != 6 * (1 + i)) wrong++;
      if (grad({g}, {w})[0].item_double() != 2 * (1 + i)) wrong++;
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_FALSE(w.grad().defined());
}

TEST_F(AutogradThreads, ModesBelongToTheThread) {
  NoGrad off;
  bool other = false;
  std::thread([&] { other = is_grad_enabled(); }).join();
  EXPECT_TRUE(other);
  EXPECT_FALSE(is_grad_enabled());
}

TEST_F(AutogradThreads, AGraphMayRunAndDieElsewhere) {
  const Tensor w = tensor({3}, float64).requires_grad_();
  Tensor y = w;
  for (int i = 0; i < 1000; i++) y = y * 1;
  std::thread([&] {
    y.backward();
    y = Tensor();
  }).join();
  EXPECT_EQ(w.grad().item_double(), 1);
}

TEST_F(AutogradThreads, AccumulatorsComeAndGo) {
  // The node of a leaf lives only while a graph points to it: making and dropping graphs races for
  // it.
  const Tensor w = tensor({3}, float64).requires_grad_();
  in_threads(4, [&](int) {
    for (int round = 0; round < 500; round++) {
      const Tensor y = w * 2;
      if (round % 10 == 0) y.backward();
    }
  });
  EXPECT_EQ(w.grad().item_double(), 4 * 50 * 2);
}

}  // namespace
}  // namespace ingot
