// Grad modes, inference mode and autocast around compiled functions (section 16, and the entries
// A122 to A124, A174 to A177).
#include "ingot/state.hpp"
#include "pass/decompose.hpp"
#include "aot/min_cut.hpp"
#include "support/resnet18.hpp"
#include "support/sanitized.hpp"
#include "support/aot_harness.hpp"
#include "support/tracked.hpp"

namespace ingot::aot {
namespace {

using AotModes = AotHarness;

std::vector<double> values(const Tensor& t) { return detached(t).to_vector<double>(); }

TEST_F(AotModes, A122_AutocastIsOffInTheGuard) {
  const Tensor x = rand({4, 4});
  const AutocastGuard on;
  EXPECT_EQ(x.matmul(x).dtype(), bfloat16);
  {
    const AutocastGuard off(bfloat16, false);
    EXPECT_EQ(x.matmul(x).dtype(), float32);
  }
  EXPECT_EQ(x.matmul(x).dtype(), bfloat16);
}

TEST_F(AotModes, A123_R132_R202_CastsAreInTheGraphOnce) {
  const auto f = [](const TensorList& in) {
    const Tensor product = aten<"einsum">("ah,th->t", TensorList{in[0], in[1]});
    return TensorList{aten<"log_softmax.int">(product, -1)};
  };
  const AutocastGuard on;
  for (const bool rg : {false, true}) {
    const Tensor s = rand({1, 256}), t = rand({30, 256}, {.dtype = bfloat16});
    const std::string graph = verify(f, {rg ? tracked(s) : s, rg ? tracked(t) : t});
    EXPECT_NE(graph.find("_to_copy"), std::string::npos) << graph;
  }
}

TEST_F(AotModes, R132_WhatWasTracedUnderAutocastRunsWithoutItBothWays) {
  std::vector<bool> on_while_compiling, on_while_running;
  const Compiler watch = [&](std::shared_ptr<const Graph> g, const Values& examples) -> Boxed {
    on_while_compiling.push_back(autocast_state().enabled);
    return [&, run = nop(std::move(g), examples)](Values& arguments) {
      on_while_running.push_back(autocast_state().enabled);
      return run(arguments);
    };
  };
  const AotFunction f =
      aot_function([](const TensorList& in) { return TensorList{in[0].matmul(in[0])}; }, {.forward = watch, .guards = false});
  const Tensor x = tracked(randn({3, 3}));
  {
    const AutocastGuard on;
    const Tensor y = f(TensorList{x})[0];
    EXPECT_EQ(y.dtype(), bfloat16);
    EXPECT_TRUE(autocast_state().enabled) << "as it was for the caller";
    y.sum().backward();
  }
  EXPECT_EQ(on_while_compiling, (std::vector<bool>{false, false}));
  EXPECT_EQ(on_while_running, (std::vector<bool>{false, false}));
  EXPECT_EQ(f(TensorList{x})[0].dtype(), bfloat16) << "the casts are the graph's";
}

// The reference asks this of cuDNN's op. What it is about are half inputs beside float parameters.
TEST_F(AotModes, A124_BatchNormOfHalfInputsComesApart) {
  const Tensor w = tracked(ones({64})), b = tracked(ones({64})), mean = ones({64}), var = ones({64});
  const Tensor x = ones({16, 64, kSanitized ? 8 : 112, kSanitized ? 8 : 112}, {.dtype = float16});
  const TensorFunction bn = [&](const TensorList& in) {
    return aten_value<"native_batch_norm">(in[0], w, b, mean, var, false, 0.1, 1e-5).tensors();
  };
  const Traced traced = trace(bn, {x}, {.decompositions = &core_decompositions()});
  EXPECT_EQ(print(traced.graph).find("batch_norm"), std::string::npos);
  const TensorList want = bn({x});
  const Tree found = ingot::run(traced, Tree::list({x}));
  ASSERT_EQ(found.children().size(), want.size());
  for (std::size_t k = 0; k < want.size(); k++) {
    EXPECT_EQ(found[k].leaf().tensor().dtype(), want[k].dtype());
    EXPECT_EQ(values(found[k].leaf().tensor()), values(want[k])) << "result " << k;
  }
}

TEST_F(AotModes, A174_R148_TangentsMayHaveOtherStrides) {
  const AotFunction f = aot_function([](const TensorList& in) { return TensorList{in[0].view({2, 3}).t()}; });
  const Tensor x = tracked(randn({6})), g = randn({3, 2});
  const Tensor y = f(TensorList{x})[0];
  EXPECT_EQ(values(grad({y}, {x}, {g})[0]), values(g.t().reshape({6})));
}

TEST_F(AotModes, A175_R015_CompilingDrawsNoRandomNumbers) {
  const TensorFunction f = [](const TensorList& in) { return TensorList{dropout(in[0], 0.5) + in[0]}; };
  const Tensor x = randn({4});
  manual_seed(0);
  const Tensor want = f({x})[0];
  manual_seed(0);
  EXPECT_EQ(values(aot_function(f)(TensorList{x})[0]), values(want));
}

TEST_F(AotModes, A176_R067_InferenceHasACompilerOfItsOwn) {
  std::string forward, inference;
  const AotFunction f = aot_function(
      [](const TensorList& in) {
        const NoGrad scope;
        return TensorList{in[0] * in[0]};
      },
      {.forward = capture(forward), .inference = capture(inference)});
  f(TensorList{tracked(randn({4}))});
  EXPECT_EQ(forward, "");
  EXPECT_EQ(inference, R"(def forward(self, arg0_1):
    mul = torch.ops.aten.mul.Tensor(arg0_1, arg0_1);  arg0_1 = None
    return (mul,)
)");
}

TEST_F(AotModes, A177_ResNet18UnderAutocast) {
  manual_seed(0);
  testing::ResNet18 net;
  const AotModule compiled = aot_module(
      net, {.partition = [](const Joint& j) { return partition_min_cut(j); }, .decompositions = &core_decompositions()});
  const Tensor x = randn({kSanitized ? 2 : 16, 3, 32, 32});
  const AutocastGuard on;
  compiled(x).sum().backward();
  for (const auto& [name, p] : net.named_parameters()) EXPECT_TRUE(p.grad().defined()) << name;
}

TEST_F(AotModes, R198_R199_CompiledWithoutGradientsStaysSo) {
  const AotFunction f = aot_function([](const TensorList& in) { return TensorList{in[0] * 2}; }, {.guards = false});
  const Tensor x = tracked(randn({3}));
  {
    const NoGrad scope;
    EXPECT_FALSE(f(TensorList{x})[0].requires_grad());
  }
  EXPECT_FALSE(f(TensorList{x})[0].requires_grad()) << "with gradients on, the graph without them";
}

TEST_F(AotModes, R133_TheGradModeComesBackAfterAnError) {
  bool on = true;
  const Compiler fails = [&](std::shared_ptr<const Graph>, const Values&) -> Boxed {
    return [&](Values&) -> Values {
      on = is_grad_enabled();
      throw_user_error("no");
    };
  };
  const AotFunction f = aot_function([](const TensorList& in) { return TensorList{in[0] * 2}; }, {.forward = fails});
  EXPECT_EQ(error_of([&] { f(TensorList{randn({3})}); }), "no");
  EXPECT_FALSE(on) << "while the graph runs";
  EXPECT_TRUE(is_grad_enabled());
}

TEST_F(AotModes, R201_ModesInsideAreAbsorbed) {
  const auto f = [](const TensorList& in) {
    Tensor kept;
    {
      const NoGrad scope;
      kept = in[0] * 3;
    }
    return TensorList{in[0] * kept};
  };
  const std::string graph = verify(f, {tracked(randn({3}))});
  EXPECT_EQ(graph.find("_set_grad_enabled"), std::string::npos) << graph;
}

TEST_F(AotModes, R200_ACopyIntoAnInferenceTensor) {
  const InferenceMode scope;
  const Tensor x = ones({3});
  const AotFunction f = aot_function([](const TensorList& in) { return TensorList{Tensor(in[0]).add_(1) * 2}; },
                                     {.keep_inference_input_mutations = true});
  EXPECT_EQ(values(f(TensorList{x})[0]), (std::vector<double>{4, 4, 4}));
  EXPECT_EQ(values(x), (std::vector<double>{2, 2, 2}));
}

}  // namespace
}  // namespace ingot::aot
