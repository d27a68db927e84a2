// What a front end captures, knows and is told: R046, R079, R137, R156, R167, and the graph that
// the derived suites compile.
#include "aot/capture.hpp"
#include "aot/compile_report.hpp"
#include "aot/tracing_context.hpp"
#include "op/side_effects.hpp"
#include "support/aot_harness.hpp"
#include "support/tracked.hpp"

namespace ingot::aot {
namespace {

using AotFrontEnd = AotHarness;

std::string captured(const FlatFunction& f, const Values& arguments) {
  ShapeEnv sizes;
  return print(capture(f, fake_inputs(arguments, {}, sizes), sizes).graph);
}

TEST_F(AotFrontEnd, TheGraphHasTheFunctionsOwnWords) {
  const auto f = [](const Values& in) {
    Tensor x = in[0].tensor(), y = in[1].tensor().t();
    {
      const NoGrad no_grad;
      x.mul_(2);
    }
    y.requires_grad_();
    Tensor z = x * y;
    z.detach_();
    return Values{aten<"linear">(z, x), in[0], 3};
  };
  EXPECT_EQ(captured(f, {ones({2, 2}), ones({2, 2})}), R"(def forward(self, arg0_1, arg1_1):
    t = torch.ops.aten.t.default(arg1_1);  arg1_1 = None
    _set_grad_enabled = torch._C._set_grad_enabled(False)
    mul_ = torch.ops.aten.mul_.Tensor(arg0_1, 2);  arg0_1 = None
    _set_grad_enabled_1 = torch._C._set_grad_enabled(True)
    requires_grad_ = torch.ops.aten.requires_grad_.default(t);  t = None
    mul = torch.ops.aten.mul.Tensor(mul_, requires_grad_);  requires_grad_ = None
    detach_ = torch.ops.aten.detach_.default(mul);  mul = None
    linear = torch.ops.aten.linear.default(detach_, mul_);  detach_ = None
    return (linear, mul_, 3)
)");
}

TEST_F(AotFrontEnd, WhatNoNodeSaysIsRefused) {
  const auto expect_refusal = [](const auto& act, const std::string& what) {
    const auto f = [&](const Values& in) {
      act(in[0].tensor());
      return in;
    };
    EXPECT_EQ(error_of([&] { captured(f, {tracked(ones({2}))}); }),
              "a graph has no node for " + what + ", which the function has");
  };
  expect_refusal([](const Tensor& x) { (x * 2).sum().backward(); }, "a backward()");
  expect_refusal([](const Tensor& x) { register_hook(x, [](const Tensor& g) { return g; }); }, "a hook");
  expect_refusal([](const Tensor&) { const InferenceMode inference; }, "a block in inference mode");
  expect_refusal([](const Tensor&) { const AutocastGuard autocast; }, "an autocast block");
}

// Gradients inside a program are calls, in the mode that the engine runs in.
TEST_F(AotFrontEnd, GradientsInsideAreItsOwnCalls) {
  const auto f = [](bool create_graph) {
    return [create_graph](const Values& in) {
      const Tensor& x = in[0].tensor();
      return Values{grad({x.exp()}, {x}, {}, {.create_graph = create_graph})[0] * 2};
    };
  };
  for (const bool create_graph : {false, true}) {
    const std::string mode = create_graph ? "True" : "False";
    EXPECT_EQ(captured(f(create_graph), {tracked(ones({}))}), R"(def forward(self, arg0_1):
    exp = torch.ops.aten.exp.default(arg0_1);  arg0_1 = None
    _set_grad_enabled = torch._C._set_grad_enabled()" + mode + R"()
    ones_like = torch.ops.aten.ones_like.default(exp)
    mul = torch.ops.aten.mul.Tensor(ones_like, exp);  ones_like = exp = None
    _set_grad_enabled_1 = torch._C._set_grad_enabled(True)
    mul_1 = torch.ops.aten.mul.Tensor(mul, 2);  mul = None
    return (mul_1,)
)");
    verify([&](const TensorList& in) { return TensorList{f(create_graph)({in[0]})[0].tensor()}; }, {tracked(randn({}))});
  }
}

// A custom function of tensors that do not require grad is the ops of its forward, but for one that
// returns its argument as another tensor, which no node says.
TEST_F(AotFrontEnd, ACustomFunctionWithoutGradients) {
  const auto f = [](bool as_it_came) {
    return [as_it_came](const Values& in) {
      const TensorList out = custom_function(
          "Mine", {in[0].tensor()}, [&](FunctionContext&, const TensorList& x) { return as_it_came ? x : TensorList{x[0] * 2}; },
          [](FunctionContext&, const TensorList& g) { return g; });
      return Values(out.begin(), out.end());
    };
  };
  EXPECT_EQ(captured(f(false), {ones({2})}), R"(def forward(self, arg0_1):
    _set_grad_enabled = torch._C._set_grad_enabled(False)
    mul = torch.ops.aten.mul.Tensor(arg0_1, 2);  arg0_1 = None
    _set_grad_enabled_1 = torch._C._set_grad_enabled(True)
    return (mul,)
)");
  EXPECT_EQ(error_of([&] { captured(f(true), {ones({2})}); }),
            "a graph has no node for a custom function (Mine), which the function has");
}

// One with gradients is a call of two graphs.
TEST_F(AotFrontEnd, ACustomFunctionIsItsForwardAndItsBackward) {
  const auto cube = [](const TensorList& in) {
    return custom_function(
        "Cube", {in[0]},
        [](FunctionContext& c, const TensorList& x) {
          const Tensor square = x[0] * x[0];
          c.save({x[0], square});
          return TensorList{square * x[0], x[0] > 0};
        },
        [](FunctionContext& c, const TensorList& g) { return TensorList{g[0] * 2 * c.saved()[1]}; });
  };
  const auto f = [&](const Values& in) {
    const TensorList out = cube({in[0].tensor() + 1});
    return Values(out.begin(), out.end());
  };
  ShapeEnv sizes;
  const Captured c = aot::capture(f, fake_inputs({tracked(ones({2}))}, {}, sizes), sizes);
  EXPECT_EQ(print(c.graph), R"(def forward(self, arg0_1):
    add = torch.ops.aten.add.Tensor(arg0_1, 1);  arg0_1 = None
    fwd_body_0 = self.fwd_body_0
    bwd_body_0 = self.bwd_body_0
    autograd_function_apply = torch.ops.higher_order.autograd_function_apply(fwd_body_0, bwd_body_0, 'Cube', 2, [], [], [add]);  fwd_body_0 = bwd_body_0 = add = None
    getitem = autograd_function_apply[0]
    getitem_1 = autograd_function_apply[1];  autograd_function_apply = None
    return (getitem, getitem_1)
)");
  const auto part = [&](const char* name) {
    return print(*std::get<std::shared_ptr<const Graph>>(*c.graph.find_attribute(name)));
  };
  // What is saved comes after the results, and before gradients of them.
  EXPECT_EQ(part("fwd_body_0"), R"(def forward(self, arg0_1):
    mul = torch.ops.aten.mul.Tensor(arg0_1, arg0_1)
    mul_1 = torch.ops.aten.mul.Tensor(mul, arg0_1)
    gt = torch.ops.aten.gt.Scalar(arg0_1, 0)
    return (mul_1, gt, arg0_1, mul)
)");
  EXPECT_EQ(part("bwd_body_0"), R"(def forward(self, arg0_1, arg1_1, arg2_1, arg3_1):
    mul = torch.ops.aten.mul.Tensor(arg2_1, 2);  arg2_1 = None
    mul_1 = torch.ops.aten.mul.Tensor(mul, arg1_1);  mul = arg1_1 = None
    return (mul_1,)
)");
  verify([&](const TensorList& in) { return cube({in[0] + 1}); }, {tracked(randn({3}))});

  // Arguments that come back as they are, also beside another use, and arguments that are written.
  const auto passed = [](const TensorList& in) {
    const Tensor out = custom_function(
        "Half", {in[0]}, [](FunctionContext&, const TensorList& x) { return x; },
        [](FunctionContext&, const TensorList& g) { return TensorList{g[0] * 0.5}; })[0];
    return TensorList{out * in[0] + out};
  };
  verify(passed, {tracked(randn({3}))});
  const auto written = [](const TensorList& in) {
    const Tensor x = in[0] * 2;
    const Tensor out = custom_function(
        "Doubled", {x},
        [](FunctionContext& context, const TensorList& t) {
          Tensor(t[0]).mul_(2);
          context.mark_dirty(t);
          return t;
        },
        [](FunctionContext&, const TensorList& g) { return TensorList{g[0] * 2}; })[0];
    return TensorList{out + x};
  };
  verify(written, {tracked(randn({3}))});

  // What neither comes as an argument nor is saved has no way into the graphs.
  const auto closing = [](const Values& in) {
    const Tensor y = in[0].tensor() * 3;
    const TensorList out = custom_function(
        "Closing", {in[0].tensor()}, [&](FunctionContext&, const TensorList& x) { return TensorList{x[0] * y}; },
        [](FunctionContext&, const TensorList& g) { return g; });
    return Values(out.begin(), out.end());
  };
  EXPECT_EQ(
      error_of([&] { captured(closing, {tracked(ones({2}))}); }),
      "a graph has no node for a custom function that uses other tensors of the program than its arguments and those that it "
      "saves, which the function has");
}

TEST_F(AotFrontEnd, TheGradModeThatIsLeftBehind) {
  const auto f = [](const Values& in) {
    switch_grad_mode(false);
    return Values{in[0].tensor() * 2};
  };
  ShapeEnv sizes;
  Captured c = aot::capture(f, fake_inputs({ones({2})}, {}, sizes), sizes);
  EXPECT_TRUE(is_grad_enabled()) << "capturing leaves nothing behind";
  EXPECT_EQ(c.grad_mode, std::optional<bool>(false));
  function_of(std::move(c))({ones({2})});
  EXPECT_FALSE(is_grad_enabled());
  switch_grad_mode(true);
}

AotOptions with_context() {
  AotOptions o;
  o.context = std::make_shared<TracingContext>();
  return o;
}

TEST_F(AotFrontEnd, R046_ParametersAreStaticWhereModulesAreInlined) {
  for (const bool inlines : {false, true}) {
    AotOptions o = with_context();
    o.context->inlines_modules = inlines;
    aot_module_simplified([](const Values& in) { return Values{in[0].tensor() * in[2].tensor() + in[1].tensor()}; },
                          {ones({2}), ones({2})}, {ones({2})}, o);
    ASSERT_TRUE(o.context->metadata);
    EXPECT_EQ(o.context->metadata->static_parameters, inlines ? std::vector<int>({0, 1}) : std::vector<int>());
  }
}

TEST_F(AotFrontEnd, R079_EveryArgumentThatIsLeftOutIsAGuard) {
  const auto f = [](const Values& in) {
    Tensor(in[0].tensor()).mul_(2);
    return Values{in[1].tensor() + in[2].tensor() + in[3].tensor()};
  };
  const Tensor x = ones({2}), y = ones({2});
  AotOptions o = with_context();
  aot_module_simplified(f, {}, {x, y, x, x}, o);
  EXPECT_TRUE(o.context->repeats.empty()) << "nobody knows where they come from";
  o = with_context();
  o.context->argument_sources = {"a", "b", "c", "d"};
  aot_module_simplified(f, {}, {x, y, x, x}, o);
  ASSERT_EQ(o.context->repeats.size(), 2u);
  EXPECT_EQ(o.context->repeats[0].kept + o.context->repeats[0].dropped, "ac");
  EXPECT_EQ(o.context->repeats[1].kept + o.context->repeats[1].dropped, "ad");
  o = with_context();
  o.context->argument_sources = {"a"};
  EXPECT_NE(error_of([&] {
              aot_module_simplified(f, {}, {x, y, x, x}, o);
            }).find("sources are known of 1 arguments, and the function has 4"),
            std::string::npos);
}

TEST_F(AotFrontEnd, R137_OpenSizesOfResultsAreOpenInWhatIsCompiledForThem) {
  const auto twice = [](const TensorList& in) { return TensorList{in[0] * 2}; };
  const Tensor y = aot_function(twice, {.dynamic = true})(TensorList{ones({4, 3})})[0];
  std::string graph;
  const auto rows = [](const TensorList& in) { return TensorList{in[0].sum() * in[0].size(0)}; };
  aot_function(rows, {.forward = capture(graph)})(TensorList{y});
  EXPECT_NE(graph.find("sym_size_int"), std::string::npos) << graph;
  aot_function(rows, {.forward = capture(graph)})(TensorList{ones({4, 3})});
  EXPECT_EQ(graph.find("sym_size_int"), std::string::npos) << graph;
}

TEST_F(AotFrontEnd, R156_TheFirstCallReturnsFakes) {
  AotOptions o = with_context();
  o.context->fakify_first_call = true;
  int runs = 0;
  o.forward = [&](std::shared_ptr<const Graph> g, const Values& examples) -> Boxed {
    report_output_strides({Shape({1, 2})});
    return [&runs, run = nop(std::move(g), examples)](Values& arguments) {
      runs++;
      return run(arguments);
    };
  };
  const FlatCallable f =
      aot_module_simplified([](const Values& in) { return Values{in[0].tensor() * 2}; }, {}, {ones({2, 3})}, o);
  const Tensor first = f({ones({2, 3})})[0].tensor();
  EXPECT_TRUE(first->is_fake());
  EXPECT_EQ(to_text(first.sizes()) + to_text(first.strides()), "[2, 3][1, 2]");
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(f({ones({2, 3})})[0].tensor().to_vector<double>(), std::vector<double>(6, 2));
  EXPECT_EQ(runs, 1);
}

// With gradients: what the first call returns and saves are fakes, the second has values and
// gradients.
TEST_F(AotFrontEnd, R156_TheFirstCallReturnsFakesAlsoWithGradients) {
  AotOptions o = with_context();
  o.context->fakify_first_call = true;
  std::vector<std::string> runs;
  const auto noting = [&](const std::string& name) -> Compiler {
    return [&runs, name](std::shared_ptr<const Graph> g, const Values& examples) -> Boxed {
      if (name == "forward") report_output_strides({Shape({1, 2}), {}});  // of the result; the saved one is as traced
      return [&runs, name, run = nop(std::move(g), examples)](Values& arguments) {
        runs.push_back(name);
        return run(arguments);
      };
    };
  };
  o.forward = noting("forward");
  o.backward = noting("backward");
  const Tensor x = tracked(full({2, 3}, 0.5));
  const FlatCallable f = aot_module_simplified([](const Values& in) { return Values{in[0].tensor().sin()}; }, {}, {x}, o);
  const Tensor first = f({x})[0].tensor();
  EXPECT_TRUE(first->is_fake() && requires_grad(first));
  EXPECT_EQ(to_text(first.sizes()) + to_text(first.strides()), "[2, 3][1, 2]");
  EXPECT_TRUE(runs.empty());
  const Tensor second = f({x})[0].tensor();
  EXPECT_FALSE(second->is_fake());
  second.sum().backward();
  EXPECT_EQ(runs, (std::vector<std::string>{"forward", "backward"}));
  EXPECT_EQ(x.grad().to_vector<double>(), detached(x).cos().to_vector<double>());
}

TEST_F(AotFrontEnd, R167_TheRandomStreamAsAnArgumentNeedsCuda) {
  AotOptions o;
  o.functionalize_rng_ops = true;
  const auto message = error_of(
      [&] { aot_function([](const TensorList& in) { return TensorList{aten<"rand_like">(in[0])}; }, o)(TensorList{ones({2})}); });
  EXPECT_TRUE(message.starts_with("CUDA not available")) << message;
}

}  // namespace
}  // namespace ingot::aot
