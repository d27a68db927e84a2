// What a function may do beside calling ops, in every nesting of transforms: nothing of it is lost
// without a word.
#include <gtest/gtest.h>

#include "aot/aot.hpp"
#include "graph/save_policy.hpp"
#include "ingot/autograd.hpp"
#include "ingot/control_flow.hpp"
#include "ingot/ingot.hpp"
#include "ingot/nn.hpp"
#include "ingot/transforms.hpp"
#include "op/call.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"
#include "support/transform_nestings.hpp"

namespace ingot::testing {
namespace {

class TransformedFeatures : public NoLeaks {};

std::vector<SameFunction> modes() {
  return {
      {"NoGrad",
       [](auto& x, auto& w) {
         Tensor constant;
         {
           const NoGrad off;
           constant = x * w;
         }
         return constant * x;
       },
       [](auto& x, auto& w) { return (x * w).detach() * x; }},
      {"EnableGradInNoGrad",
       [](auto& x, auto& w) {
         const NoGrad off;
         const EnableGrad on;
         return x * w * x;
       },
       [](auto& x, auto& w) { return x * w * x; }},
      {"DetachInPlace",
       [](auto& x, auto& w) {
         Tensor y = x * w;
         y.detach_();
         EXPECT_FALSE(y.requires_grad());
         return y * x;
       },
       [](auto& x, auto& w) { return (x * w).detach() * x; }},
      {"WriteOfADetachedValue",
       [](auto& x, auto& w) {
         Tensor y = x * w;
         y.copy_((x + w).detach());
         return y * x;
       },
       [](auto& x, auto& w) { return (x + w).detach() * x; }},
      {"CheckpointScope",
       [](auto& x, auto& w) {
         const CheckpointScope region;
         return (x * w).sin() * x;
       },
       [](auto& x, auto& w) { return (x * w).sin() * x; }},
      {"Autocast",
       [](auto& x, auto& w) {
         const Tensor a = x.to(float32).view({1, 2}), b = w.to(float32).view({2, 1});
         const AutocastGuard half(bfloat16);
         return aten<"mm">(a, b).to(float64).view({1}) * x;
       },
       [](auto& x, auto& w) {
         const Tensor a = x.to(float32).view({1, 2}).to(bfloat16), b = w.to(float32).view({2, 1}).to(bfloat16);
         return aten<"mm">(a, b).to(float64).view({1}) * x;
       }},
  };
}

std::vector<SameFunction> writes() {
  return {
      {"Chain",
       [](auto& x, auto& w) {
         Tensor y = x * w;
         y.add_(x).mul_(w);
         return y;
       },
       [](auto& x, auto& w) { return (x * w + x) * w; }},
      {"Slice",
       [](auto& x, auto& w) {
         Tensor y = x * w;
         y.slice(0, 0, 1).mul_(x.slice(0, 1, 2));
         return y * y;
       },
       [](auto& x, auto& w) {
         const Tensor y = x * w,
                      z = aten<"cat">(TensorList{(y * x.slice(0, 1, 2).expand({2})).slice(0, 0, 1), y.slice(0, 1, 2)}, 0);
         return z * z;
       }},
      {"Copy",
       [](auto& x, auto& w) {
         Tensor y = x * w;
         y[1].copy_(x[0] * w[0]);
         return y * x;
       },
       [](auto& x, auto& w) { return aten<"cat">(TensorList{(x * w).slice(0, 0, 1), (x * w).slice(0, 0, 1)}, 0) * x; }},
      {"Fill",
       [](auto& x, auto& w) {
         Tensor y = x * w;
         y[0].zero_();
         return y * x;
       },
       [](auto& x, auto& w) { return x * w * tensor({0, 1}, float64) * x; }},
      {"ViewBeforeTheWrite",
       [](auto& x, auto& w) {
         Tensor y = x * w;
         const Tensor v = y.view({1, 2});
         y.mul_(x);
         return v.view({2}) * w;
       },
       [](auto& x, auto& w) { return x * w * x * w; }},
      {"InPlaceView",
       [](auto& x, auto& w) {
         Tensor y = (x * w).view({1, 2});
         aten_value<"t_">(y);
         return (y * y).view({2});
       },
       [](auto& x, auto& w) { return x * w * x * w; }},
      {"IntoANewTensor",
       [](auto& x, auto& w) {
         Tensor y = zeros_like(x + w);
         y.add_(x * w);
         return y * x;
       },
       [](auto& x, auto& w) { return x * w * x; }},
  };
}

std::vector<SameFunction> control_flow() {
  const auto sine = [](const TensorList& t) { return TensorList{t[0].sin() * t[1]}; };
  const auto cosine = [](const TensorList& t) { return TensorList{t[0].cos() * t[1]}; };
  return {
      {"CondByMember", [=](auto& x, auto& w) { return cond(x.sum() > 0.5, sine, cosine, {x * w, x})[0]; },
       [](auto& x, auto& w) { return aten<"where.self">(x.sum() > 0.5, (x * w).sin() * x, (x * w).cos() * x); }},
      {"CondByTheWeight", [=](auto& x, auto& w) { return cond(w.sum() > 0.5, sine, cosine, {x * w, x})[0]; },
       [](auto& x, auto& w) { return aten<"where.self">(w.sum() > 0.5, (x * w).sin() * x, (x * w).cos() * x); }},
      {"Map",
       [](auto& x, auto& w) {
         return map([](const TensorList& t) { return TensorList{t[0].sin() * t[1].sum()}; }, {x * w}, {x * 1})[0];
       },
       [](auto& x, auto& w) { return (x * w).sin() * x.sum(); }},
      {"Scan",
       [](auto& x, auto& w) {
         return scan([](const TensorList& t) { return TensorList{t[0] * 0.5 + t[1], (t[0] * t[1]).sin()}; }, {x.sum() * 1},
                     {x * w})
             .stacked[0];
       },
       [](auto& x, auto& w) {
         const Tensor y = x * w, first = x.sum(), second = first * 0.5 + y[0];
         return aten<"stack">(TensorList{(first * y[0]).sin(), (second * y[1]).sin()}, 0);
       }},
  };
}

std::vector<SameFunction> transforms() {
  const TensorFunction product = [](const TensorList& t) { return TensorList{(t[0] * t[0] * t[1]).sum()}; };
  return {
      {"Grad", [=](auto& x, auto& w) { return grad(product)({x, w})[0]; }, [](auto& x, auto& w) { return x * w * 2; }},
      {"GradOfAnotherArgument", [=](auto& x, auto& w) { return grad(product, {1})({x, w})[0] * w; },
       [](auto& x, auto& w) { return x * x * w; }},
      {"Vmap",
       [](auto& x, auto& w) { return vmap([](const TensorList& t) { return TensorList{t[0].sin() * t[1]}; })({x, w})[0]; },
       [](auto& x, auto& w) { return x.sin() * w; }},
      {"VmapOfGrad",
       [](auto& x, auto& w) { return vmap(grad([](const TensorList& t) { return TensorList{t[0].sin() * t[1]}; }))({x, w})[0]; },
       [](auto& x, auto& w) { return x.cos() * w; }},
      {"Jvp",
       [](auto& x, auto& w) { return jvp([](const TensorList& t) { return TensorList{t[0].sin()}; }, {x}, {w}).tangents[0]; },
       [](auto& x, auto& w) { return x.cos() * w; }},
      {"Functionalize",
       [](auto& x, auto& w) {
         return functionalize([](const TensorList& t) {
           Tensor y = t[0] * t[1];
           y.mul_(t[1]);
           return TensorList{y.sin()};
         })({x, w})[0];
       },
       [](auto& x, auto& w) { return (x * w * w).sin(); }},
  };
}

TEST_F(TransformedFeatures, ModesAndDetachedValues) { expect_same_in_every_nesting(modes()); }
TEST_F(TransformedFeatures, WritesAndViews) { expect_same_in_every_nesting(writes()); }
TEST_F(TransformedFeatures, ControlFlow) { expect_same_in_every_nesting(control_flow()); }
TEST_F(TransformedFeatures, TransformsInside) { expect_same_in_every_nesting(transforms()); }

TEST_F(TransformedFeatures, ComposeInRandomNestings) {
  std::vector<SameFunction> all;
  for (const auto& list : {modes(), writes(), control_flow(), transforms()}) all.insert(all.end(), list.begin(), list.end());
  expect_same_in_random_nestings(all, 300, 2);
}

TEST_F(TransformedFeatures, FunctionsMadeBefore) {
  const TensorFunction body = [](const TensorList& t) {
    Tensor y = t[0] * t[1];
    y.mul_(t[0]);
    return TensorList{y.sin()};
  };
  const Tensor x = counted({2}), w = counted({2});
  const GraphFunction graph = make_fx(body, {x, w});
  expect_same_in_every_nesting(
      {{"Graph", [&](auto& x, auto& w) { return graph({x, w})[0]; }, [](auto& x, auto& w) { return (x * w * x).sin(); }}});
}

// Parameters of a module as arguments of a function: an ensemble.
TEST_F(TransformedFeatures, ModulesAsFunctions) {
  nn::Linear layer(2, 2, false);
  layer.to(float64);
  expect_same_in_every_nesting({{"Module",
                                 [&](auto& x, auto& w) {
                                   const nn::StateScope state(layer, {aten<"diag_embed">(w)});
                                   return layer(x).sin();
                                 },
                                 [](auto& x, auto& w) { return (x * w).sin(); }}});
}

// A transform has a tape of its own; the mode outside is for what is outside.
TEST_F(TransformedFeatures, AreTheSameInInferenceMode) {
  const Member m = [](const Tensor& x, const Tensor& w) { return (x * w).sin() * x; };
  const Tensor x = counted({3, 4, 2}), w = tensor({0.7, -1.3}, float64);
  for (const Nesting& n : nestings()) {
    if (std::string_view(n.name) == "backward_into_leaves") continue;  // no transform's
    SCOPED_TRACE(n.name);
    const TensorList want = n.run(m, x, w);
    const InferenceMode inference;
    TensorList got;
    ASSERT_EQ(error_of([&] { got = n.run(m, x, w); }), "no error");
    for (std::size_t k = 0; k < want.size(); k++) expect_near(got[k], want[k]);
  }
  const InferenceMode inference;  // variables may be tensors of the mode
  expect_near(vmap(grad(scalar_of(m), {0, 1}), kFirst)({x[0].clone(), w.clone()})[1],
              vmap(grad(scalar_of(m), {0, 1}), kFirst)({x[0], w})[1]);
}

TEST_F(TransformedFeatures, GradientsReachWhatAFunctionBringsAlong) {
  const Tensor x = counted({3, 2}), w = tensor({0.7, -1.3}, float64).requires_grad_();
  const Tensor y = vmap([&](const TensorList& in) { return TensorList{in[0] * w * w}; })({x})[0];
  y.sum().backward();
  expect_near(w.grad(), x.sum({0}) * w.detach() * 2);
  w.set_grad({});
  const Tensor g = vmap(grad([&](const TensorList& in) { return TensorList{(in[0] * in[0] * w).sum()}; }))({x})[0];
  expect_near(g.detach(), x * 2 * w.detach());
  g.sum().backward();
  expect_near(w.grad(), x.sum({0}) * 2);
}

}  // namespace
}  // namespace ingot::testing
