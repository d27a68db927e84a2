// Hooks and other things said to the tape from inside a transformed function: they hold for every
// member, or are refused.
#include <gtest/gtest.h>

#include "ingot/autograd.hpp"
#include "ingot/ingot.hpp"
#include "ingot/transforms.hpp"
#include "op/call.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"
#include "support/transform_nestings.hpp"

namespace ingot::testing {
namespace {

class TransformedHooks : public NoLeaks {};

// Where a function is not differentiated there is nothing to hook.
Tensor hooked(const Tensor& t, const std::function<Tensor(const Tensor&)>& hook) {
  if (t.requires_grad()) register_hook(t, hook);
  return t;
}
// t, with `times` its gradient.
Tensor scaled_gradient(const Tensor& t, double times) { return t * times - (t * (times - 1)).detach(); }

TEST_F(TransformedHooks, ReplaceTheGradientInEveryNesting) {
  expect_same_in_every_nesting({
      {"AHook", [](auto& x, auto& w) { return hooked((x * w).sin(), [](const Tensor& g) { return g * 10; }) * x; },
       [](auto& x, auto& w) { return scaled_gradient((x * w).sin(), 10) * x; }},
      {"AHookOnTheWeightAlone", [](auto& x, auto& w) { return hooked(w.sin(), [](const Tensor& g) { return g * 10; }) * x * x; },
       [](auto& x, auto& w) { return scaled_gradient(w.sin(), 10) * x * x; }},
      {"TwoHooks",
       [](auto& x, auto& w) {
         const Tensor y = x * w;
         hooked(y, [](const Tensor& g) { return g * 10; });
         return hooked(y, [](const Tensor& g) { return g * 0.5; }).sin();
       },
       [](auto& x, auto& w) { return scaled_gradient(x * w, 5).sin(); }},
      {"AHookThatOnlyLooks", [](auto& x, auto& w) { return hooked(x * w, [](const Tensor&) { return Tensor(); }).exp(); },
       [](auto& x, auto& w) { return (x * w).exp(); }},
      {"AHookThatReadsTheForward",
       [](auto& x, auto& w) {
         const Tensor y = x * w, d = y.detach().cos();
         return hooked(y, [d](const Tensor& g) { return g * d; }).sin();
       },
       [](auto& x, auto& w) {
         const Tensor y = x * w, d = y.detach().cos();
         return (y * d - (y * d).detach() + y.detach()).sin();
       }},
      {"AHookAfterAWrite",
       [](auto& x, auto& w) {
         Tensor y = x * w;
         y.mul_(x.sin());
         return hooked(y, [](const Tensor& g) { return g * 10; }) * x;
       },
       [](auto& x, auto& w) { return scaled_gradient(x * w * x.sin(), 10) * x; }},
  });
}

TEST_F(TransformedHooks, OnTheVariableItself) {
  const auto f = [](bool hook) {
    return scalar_of([hook](const Tensor& x, const Tensor& w) {
      if (hook) register_hook(x, [](const Tensor& g) { return g * 10; });
      return (hook ? x : scaled_gradient(x, 10)).sin() * w;
    });
  };
  const Tensor x = counted({3, 4, 2}), w = counted({2});
  expect_near(grad(f(true))({x[0][0], w})[0], grad(f(false))({x[0][0], w})[0]);
  expect_near(vmap(grad(f(true)), kFirst)({x[0], w})[0], vmap(grad(f(false)), kFirst)({x[0], w})[0]);
  expect_near(vmap(vmap(grad(f(true)), kFirst), kFirst)({x, w})[0], vmap(vmap(grad(f(false)), kFirst), kFirst)({x, w})[0]);
  expect_near(grad(total(vmap(f(true), kFirst)))({x[0], w})[0], grad(total(vmap(f(false), kFirst)))({x[0], w})[0]);
}

TEST_F(TransformedHooks, AreCalledOnceAndSeeAMember) {
  const Tensor x = counted({3, 2});
  std::vector<Shape> seen;
  const TensorFunction f = [&](const TensorList& in) {
    const Tensor h = in[0].sin();
    register_hook(h, [&](const Tensor& g) {
      seen.push_back(g.sizes());
      return g * 10;
    });
    return TensorList{(h * h).sum()};
  };
  const Tensor want = x.sin() * x.cos() * 20;
  const auto expect_calls = [&](std::size_t n) {
    EXPECT_EQ(seen, std::vector<Shape>(n, Shape({2})));
    seen.clear();
  };
  expect_near(vmap(grad(f))({x})[0], want);
  expect_calls(1);
  const TensorFunction pulled = [&](const TensorList& in) {
    const Pullback p = vjp(f, in);
    return p.pull({ones_like(p.results[0])});
  };
  expect_near(vmap(pulled)({x})[0], want);
  expect_calls(1);
  expect_near(grad([&](const TensorList& in) { return TensorList{vmap(f)(in)[0].sum()}; })({x})[0], want);
  expect_calls(1);
  const Tensor leaf = x.clone().requires_grad_();
  vmap(f)({leaf})[0].sum().backward();
  expect_near(leaf.grad(), want);
  expect_calls(1);
  hessian(f)({x[0]});  // the first gradient of all columns at once; the second is that of a gradient
  EXPECT_FALSE(seen.empty());
}

TEST_F(TransformedHooks, CannotChangeTheSizeOrTheBatch) {
  const Tensor x = counted({3, 2}), w = counted({2});
  EXPECT_EQ(error_of([&] {
              vmap(grad(scalar_of([](const Tensor& x, const Tensor& w) {
                     const Tensor y = x * w;
                     register_hook(y, [](const Tensor&) { return ones({3}, {.dtype = float64}); });
                     return y;
                   })),
                   kFirst)({x, w});
            }),
            "a hook has changed the size of value: expected [2], found [3]");
  // What all members share has one gradient: a hook cannot make it several.
  const TensorFunction f = [](const TensorList& in) {
    const Tensor shared = in[1] * 2, member = in[0];
    register_hook(shared, [member](const Tensor& g) { return g * member; });
    return TensorList{shared * member};
  };
  EXPECT_NE(error_of([&] { grad(total(vmap(f, kFirst)), {1})({x, w}); }).find("vmap"), std::string::npos);
}

TEST_F(TransformedHooks, CannotHideAJvp) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor y = in[0].sin();
    register_hook(y, [](const Tensor& g) { return g.detach() * 2; });
    return TensorList{y};
  };
  const Tensor x = counted({3, 2});
  EXPECT_EQ(error_of([&] { jvp(f, {x}, {x}); }).find("jvp: a hook returned a gradient"), 0u);
  EXPECT_EQ(error_of([&] { vmap([&](const TensorList& in) { return jvp(f, in, in).tangents; })({x}); }).find("jvp: a hook"), 0u);
  expect_near(vjp(f, {x}).pull({x})[0], x.cos() * x * 2);
}

TEST_F(TransformedHooks, AnArgumentThatIsALeafOutsideHasNone) {
  const Tensor leaf = counted({3, 2}).requires_grad_();
  EXPECT_NE(error_of([&] {
              vmap([](const TensorList& in) {
                register_hook(in[0], [](const Tensor& g) { return g; });
                return in;
              })({leaf});
            }).find("an argument that is a leaf outside of it"),
            std::string::npos);
}

TEST_F(TransformedHooks, WhatOnlyTheOuterTapeHasIsRefused) {
  const Tensor x = counted({3, 2});
  const auto inside = [&](const std::function<void(Tensor)>& act) {
    return error_of([&] {
      vmap(grad([&](const TensorList& in) {
        act(in[0].sin());
        return TensorList{in[0].sum()};
      }))({x});
    });
  };
  const auto unsupported = [](const std::string& what) {
    return "You are attempting to call Tensor." + what +
           "() inside of a function being transformed by a functorch transform. This is unsupported, please attempt to use the functorch "
           "transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call " +
           what + "() outside of a function being transformed instead.";
  };
  EXPECT_EQ(inside([](Tensor t) { retain_grad(t); }), unsupported("retain_grad"));
  EXPECT_EQ(inside([](Tensor t) { t.detach().requires_grad_(); }), unsupported("requires_grad_"));
  EXPECT_EQ(inside([](Tensor t) { register_post_accumulate_grad_hook(t, [](Tensor&) {}); }),
            "post accumulate grad hooks cannot be registered on non-leaf tensors");
  constexpr const char* no_backward =
      "backward() called inside a functorch transform. This is not supported, please use functorch.grad or functorch.vjp instead or call "
      "backward() outside of functorch transforms.";
  EXPECT_EQ(inside([](Tensor t) { t.sum().backward(); }), no_backward);
  const Tensor w = ones({2}, {.dtype = float64}).requires_grad_();
  EXPECT_EQ(inside([&](Tensor) { w.sum().backward(); }), no_backward) << "it would run once, and not for each member";
  EXPECT_EQ(error_of([&] {
              grad([](const TensorList& in) {
                in[0].sum().backward();
                return TensorList{in[0].sum()};
              })({x});
            }),
            no_backward)
      << "it would accumulate nowhere";
  EXPECT_FALSE(w.grad().defined());
}

// ---- grad() of autograd.hpp inside a transformed function
TEST_F(TransformedHooks, GradientsAskedForInside) {
  expect_same_in_every_nesting({{"GradOfAProduct",
                                 [](auto& x, auto& w) {
                                   const Tensor y = (x * x * w).sin() + x * 0;
                                   if (!x.requires_grad()) return y.cos() * x * w * 2;
                                   const Tensor h = x * 1;  // a variable that every nesting differentiates through
                                   const EnableGrad on;
                                   return grad({(h * h * w).sin().sum()}, {h}, {}, {.create_graph = true})[0];
                                 },
                                 [](auto& x, auto& w) {
                                   if (!x.requires_grad()) return ((x * x * w).sin() + x * 0).cos() * x * w * 2;
                                   return (x * x * w).cos() * 2 * x * w;
                                 }}},
                               // With respect to something that only some members' outputs are
                               // batched over, see below.
                               {"grad_vmap_over_the_weight", "grad_vmap_vmap_over_other_arguments"});
}

TEST_F(TransformedHooks, AGradientForEachMemberOfASharedTensorIsRefused) {
  const Tensor x = counted({3, 2}), w = counted({2}).requires_grad_();
  for (const bool allow_unused : {false, true})
    EXPECT_NE(
        error_of([&] {
          vmap([&](const TensorList& in) { return grad({(in[0] * w).sum()}, {w}, {}, {.allow_unused = allow_unused}); })({x});
        }).find("that is not, and that all members share"),
        std::string::npos);
}

TEST_F(TransformedHooks, AVmapOverGradientsOfGraphsOutside) {
  const Tensor x = counted({2}).requires_grad_(), y = x.sin();
  const TensorFunction pull = [&](const TensorList& g) { return grad({y}, {x}, g, {.retain_graph = true}); };
  expect_near(vmap(pull)({tensor({1, 0, 0, 1}, Shape{2, 2}, float64)})[0], aten<"diag_embed">(x.detach().cos()));
}

}  // namespace
}  // namespace ingot::testing
