// Hooks on gradients, retained gradients.
#include "ingot/ingot.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"
#include "unit/autograd_leaf.hpp"

namespace ingot {
namespace {

using AutogradHooks = NoLeaks;

TEST_F(AutogradHooks, AHookSeesTheWholeGradientOnce) {
  const Tensor x = leaf({2});
  const Tensor y = x * 3;
  std::vector<double> seen;
  register_hook(y, [&](const Tensor& g) {
    seen.push_back(g.item_double());
    return Tensor();
  });
  (y * 4 + y * 5).backward();
  EXPECT_EQ(seen, (std::vector<double>{9})) << "after all paths have added up";
  EXPECT_EQ(x.grad().item_double(), 27);
}

TEST_F(AutogradHooks, AHookMayReplaceTheGradient) {
  const Tensor x = leaf({2}), y = x * 3;
  register_hook(y, [](const Tensor& g) { return g * 10; });
  register_hook(y, [](const Tensor& g) { return g + 1; });  // in the order they were registered
  y.backward();
  EXPECT_EQ(x.grad().item_double(), 33);
}

TEST_F(AutogradHooks, AHookMayNotChangeTheSize) {
  const Tensor x = leaf({2}), y = x * 3;
  register_hook(y, [](const Tensor&) { return ones({2}, {.dtype = float64}); });
  EXPECT_NE(error_of([&] { y.backward(); }).find("changed the size of value"), std::string::npos);
}

TEST_F(AutogradHooks, LeafHooks) {
  const Tensor x = leaf({2});
  int calls = 0;
  register_hook(x, [&](const Tensor& g) {
    calls++;
    return g * 2;
  });
  (x * 3).backward();
  EXPECT_EQ(x.grad().item_double(), 6);
  (x * 3 + x * 4).backward();  // the hook outlives the graphs
  EXPECT_EQ(x.grad().item_double(), 6 + 14) << "what was accumulated before stays as it is";
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(grad({x * 5}, {x})[0].item_double(), 10) << "grad() passes the hooks of its inputs";
}

TEST_F(AutogradHooks, GradSeesTheHooksOfInnerInputs) {
  const Tensor x = leaf({2}), y = x * 3, z = y * 4;
  register_hook(y, [](const Tensor& g) { return g * 10; });
  EXPECT_EQ(grad({z}, {y})[0].item_double(), 40);
}

TEST_F(AutogradHooks, HooksOfUnusedResultsAreNotCalled) {
  const Tensor x = leaf({1, 2});
  const TensorList parts = (x * 1).unbind();
  int calls = 0;
  register_hook(parts[1], [&](const Tensor&) {
    calls++;
    return Tensor();
  });
  parts[0].backward();
  EXPECT_EQ(calls, 0);
}

TEST_F(AutogradHooks, AHookOnOneOfSeveralResults) {
  const Tensor x = leaf({1, 2});
  const TensorList parts = (x * 1).unbind();
  register_hook(parts[1], [](const Tensor& g) { return g * 100; });
  (parts[0] + parts[1]).backward();
  EXPECT_EQ(values(x.grad()), (std::vector<double>{1, 100}));
}

TEST_F(AutogradHooks, PostAccumulate) {
  Tensor x = leaf({2});
  std::vector<double> seen;
  register_post_accumulate_grad_hook(x, [&](Tensor& t) {
    seen.push_back(t.grad().item_double());
    NoGrad off;
    t.sub_(t.grad());  // an optimizer step in the backward
    t.set_grad({});
  });
  (x * 3).backward();
  EXPECT_EQ(seen, (std::vector<double>{3}));
  EXPECT_EQ(x.item_double(), -1);
  EXPECT_FALSE(x.grad().defined());
  grad({x * 3}, {x});
  EXPECT_EQ(seen.size(), 1u) << "grad() accumulates nothing";
}

TEST_F(AutogradHooks, WhereHooksMayBe) {
  const Tensor plain = ones({2}), x = leaf({1});
  auto none = [](const Tensor&) { return Tensor(); };
  EXPECT_EQ(error_of([&] { register_hook(plain, none); }), "cannot register a hook on a tensor that doesn't require gradient");
  EXPECT_EQ(error_of([&] { register_post_accumulate_grad_hook(x * 2, [](Tensor&) {}); }),
            "post accumulate grad hooks cannot be registered on non-leaf tensors");
  EXPECT_THROW(register_post_accumulate_grad_hook(plain, [](Tensor&) {}), UserError);
  EXPECT_EQ(error_of([&] { retain_grad(plain); }), "can't retain_grad on Tensor that has requires_grad=False");
  EXPECT_THROW(register_hook(Tensor(), none), UserError);
  EXPECT_THROW(retain_grad(Tensor()), UserError);
}

TEST_F(AutogradHooks, AHookMayRunABackward) {
  const Tensor x = leaf({2}), y = x * 3, other = leaf({5});
  register_hook(y, [&](const Tensor&) {
    EnableGrad on;
    (other * other).backward();
    return Tensor();
  });
  y.backward();
  EXPECT_EQ(x.grad().item_double(), 3);
  EXPECT_EQ(other.grad().item_double(), 10);
}

TEST_F(AutogradHooks, AHookMayRegisterAnother) {
  const Tensor x = leaf({2}), y = x * 3;
  int second = 0;
  register_hook(y, [&](const Tensor&) {
    if (second == 0)
      register_hook(y, [&](const Tensor&) {
        second++;
        return Tensor();
      });
    return Tensor();
  });
  y.backward({}, true);
  EXPECT_EQ(second, 1);
}

TEST_F(AutogradHooks, AHookOfACreateGraphRunIsDifferentiable) {
  const Tensor x = leaf({2}), y = x * x;
  register_hook(y, [&](const Tensor& g) { return g * x; });
  const Tensor g = grad({y}, {x}, {}, {.create_graph = true})[0];  // x · 2x
  EXPECT_EQ(g.item_double(), 8);
  EXPECT_EQ(grad({g}, {x})[0].item_double(), 8);  // d(2x²) … = 4x
}

// ---- retain_grad
TEST_F(AutogradHooks, RetainGradKeepsAnInnerGradient) {
  const Tensor x = leaf({2}), y = x * 3, z = y * y;
  retain_grad(y);
  retain_grad(y);  // once more changes nothing
  retain_grad(x);  // a leaf has it anyway
  z.backward();
  EXPECT_EQ(y.grad().item_double(), 12);
  EXPECT_EQ(x.grad().item_double(), 36);
  EXPECT_FALSE(z.grad().defined());
}

TEST_F(AutogradHooks, RetainedGradientsAccumulate) {
  const Tensor x = leaf({2}), y = x * 3;
  retain_grad(y);
  (y * 2).backward({}, true);
  (y * 5).backward();
  EXPECT_EQ(y.grad().item_double(), 7);
}

TEST_F(AutogradHooks, RetainedGradientIsTheHooked) {
  const Tensor x = leaf({2}), y = x * 3;
  retain_grad(y);
  register_hook(y, [](const Tensor& g) { return g * 10; });
  y.backward();
  EXPECT_EQ(y.grad().item_double(), 10);
}

TEST_F(AutogradHooks, RetainedGradientIsACopy) {
  const Tensor x = leaf({1, 2}), y = x * 3, seed = tensor({1, 1}, float64);
  retain_grad(y);
  y.backward(seed);
  y.grad().mul_(100);
  EXPECT_EQ(values(seed), (std::vector<double>{1, 1}));
}

TEST_F(AutogradHooks, RetainGradFollowsInPlaceWrites) {
  const Tensor x = leaf({2});
  Tensor y = x * 3;
  retain_grad(y);
  y.mul_(5);
  (y * 7).backward();
  EXPECT_EQ(y.grad().item_double(), 7) << "of y as it is now";
  EXPECT_EQ(x.grad().item_double(), 105);
}

TEST_F(AutogradHooks, AHookStaysWithTheValueItWasRegisteredFor) {
  const Tensor x = leaf({2});
  Tensor y = x * 3;
  double seen = 0;
  register_hook(y, [&](const Tensor& g) {
    seen = g.item_double();
    return Tensor();
  });
  y.mul_(5);
  (y * 7).backward();
  EXPECT_EQ(seen, 35);
}

TEST_F(AutogradHooks, ATensorThatDiedRetainsNothing) {
  const Tensor x = leaf({2});
  Tensor z;
  {
    Tensor y = x * 3;
    retain_grad(y);
    y.mul_(5);
    z = y * 7;
  }
  z.backward();
  EXPECT_EQ(x.grad().item_double(), 105);
}

TEST_F(AutogradHooks, RetainGradOfAView) {
  const Tensor x = leaf({1, 2});
  Tensor y = x * 3;
  Tensor v = y.select(0, 1);
  retain_grad(v);
  y.mul_(2);  // v's history is rebuilt
  (v * v).backward();
  EXPECT_EQ(v.grad().item_double(), 24);
  EXPECT_EQ(values(x.grad()), (std::vector<double>{0, 144}));
}

}  // namespace
}  // namespace ingot
