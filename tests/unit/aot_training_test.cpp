// What callers rely on around gradients: when backwards are compiled, outputs of every kind,
// repeated inputs (A100 to A136 of the dispatch specification, as far as they need no modules and
// no wrapper tensors).
#include "support/aot_harness.hpp"
#include "support/tracked.hpp"

namespace ingot::aot {
namespace {

using AotTraining = AotHarness;

TEST_F(AotTraining, A100_EverythingAliases) {
  const auto f = [](const TensorList& in) {
    Tensor(in[2]).mul_(2);
    aten_value<"t_">(in[1]);
    const Tensor s = in[0] + in[2], o1 = s.view({-1}), o2 = in[1].t(), o3 = o1.unsqueeze(0);
    return TensorList{o1, o2, o3};
  };
  const auto factory = [](bool rg) -> Factory {
    return [rg] {
      const TensorList bases{rg ? tracked(ones({2, 2})) : ones({2, 2}), rg ? tracked(ones({2, 2})) : ones({2, 2})};
      const Tensor x = bases[0] + 1, y = bases[1] + 1;
      return Made{bases, {x.view({-1}), y, x.view({-1})}};
    };
  };
  verify(f, factory(false), {.mut = true});
  EXPECT_EQ(verify(f, factory(true), {.mut = true}), R"(def forward(self, primals_1, primals_2):
    clone = torch.ops.aten.clone.default(primals_1);  primals_1 = None
    view = torch.ops.aten.view.default(primals_2, [2, 2]);  primals_2 = None
    as_strided_1 = torch.ops.aten.as_strided.default(clone, [4], [1], 0)
    mul = torch.ops.aten.mul.Tensor(as_strided_1, 2);  as_strided_1 = None
    as_strided_scatter = torch.ops.aten.as_strided_scatter.default(clone, mul, [4], [1], 0);  clone = mul = None
    as_strided_2 = torch.ops.aten.as_strided.default(as_strided_scatter, [4], [1], 0)
    t = torch.ops.aten.t.default(view);  view = None
    as_strided_5 = torch.ops.aten.as_strided.default(as_strided_scatter, [4], [1], 0)
    add = torch.ops.aten.add.Tensor(as_strided_5, as_strided_2);  as_strided_5 = as_strided_2 = None
    view_1 = torch.ops.aten.view.default(add, [-1])
    t_1 = torch.ops.aten.t.default(t)
    unsqueeze = torch.ops.aten.unsqueeze.default(view_1, 0)
    return [as_strided_scatter, t, view_1, t_1, unsqueeze, add]
)");
}

TEST_F(AotTraining, A101_AnIntegerOutputHasNoTangent) {
  std::string backward;
  const AotFunction f = aot_function(
      [](const Tree& a) {
        const Tensor x = a[0].leaf().tensor();
        return Tree::list({Tree(x + 1), Tree(Value(x.size(0)))});
      },
      {.backward = capture(backward), .dynamic = true});
  const Tree out = f(Tree::tuple({tracked(ones({5}))}));
  EXPECT_EQ(out[1].leaf().to_int64(), 5);
  out[0].leaf().tensor().sum().backward();
  EXPECT_EQ(backward, "def forward(self, tangents_1):\n    return [tangents_1]\n");
}

TEST_F(AotTraining, A102_EveryCombinationOfTrackedInputs) {
  const auto f = [](const TensorList& in) { return TensorList{in[0].cos(), in[1].cos(), in[0] * in[1]}; };
  for (const bool a : {false, true})
    for (const bool b : {false, true}) verify(f, {a ? tracked(randn({5})) : randn({5}), b ? tracked(randn({5})) : randn({5})});
}

TEST_F(AotTraining, A103_AnOutputThatStartsToRequireGrad) {
  const auto f = [](const TensorList& in) {
    Tensor v = in[0].view({-1});
    v.requires_grad_();
    return TensorList{v};
  };
  verify(f, {randn({3, 3}), tracked(randn({3, 3}))});
}

TEST_F(AotTraining, A104_A105_OutputsWithoutGradients) {
  const TensorList x{tracked(randn({3, 3})), tracked(randn({3, 3}))};
  verify([](const TensorList& in) { return TensorList{in[0].detach(), in[1]}; }, x);
  verify([](const TensorList& in) { return TensorList{(in[0] + 1).detach(), in[1]}; }, x);
}

TEST_F(AotTraining, A106_GradInsideTheFunction) {
  verify([](const TensorList& in) { return grad({in[0].exp()}, {in[0]}); }, {tracked(randn({}))});
}

TEST_F(AotTraining, A107_R016_R151_TheBackwardIsCompiledWhenItIsAskedFor) {
  int compiled = 0;
  const Compiler backward = [&](std::shared_ptr<const Graph> g, const Values& examples) {
    compiled++;
    EXPECT_GE(g->nodes().size(), 2u);
    return nop(std::move(g), examples);
  };
  const auto f = [](const TensorList& in) { return TensorList{in[0] * 2}; };
  {
    const NoGrad scope;
    EXPECT_FALSE(aot_function(f, {.backward = backward})(TensorList{tracked(randn({}))})[0].requires_grad());
    EXPECT_EQ(compiled, 0);
  }
  const AotFunction g = aot_function(f, {.backward = backward});
  const Tensor x = tracked(randn({})), y = g(TensorList{x})[0];
  EXPECT_EQ(compiled, 0);
  y.backward();
  EXPECT_EQ(compiled, 1);
  g(TensorList{x})[0].backward();
  EXPECT_EQ(compiled, 1) << "once";
  EXPECT_EQ(x.grad().item_double(), 4);
}

TEST_F(AotTraining, A108_DictsOfOutputs) {
  verify_tree([](const Tree& a) { return Tree::dict({{Value("a"), a[0]}, {Value("b"), a[0]}}); }, Values{tracked(randn({3, 3}))});
  verify_tree(
      [](const Tree& a) {
        return Tree::dict({{Value("a"), a[0]}, {Value("b"), Tree(a[1].leaf().tensor() + a[0].leaf().tensor())}});
      },
      {tracked(randn({3})), randn({3})});
  verify_tree(
      [](const Tree& a) {
        std::vector<std::pair<Value, Tree>> doubled;
        for (std::size_t k = 0; k < a[0].children().size(); k++)
          doubled.emplace_back(a[0].keys()[k], Tree(a[0][k].leaf().tensor() * 2));
        return Tree::dict(std::move(doubled));
      },
      Tree::tuple({Tree::dict({{Value("a"), tracked(randn({3}))}, {Value("b"), tracked(randn({3}))}})}));
}

TEST_F(AotTraining, A111_R130_CompiledFunctionsOwnTheirArguments) {
  int emptied = 0;
  const Compiler boxed = [&](std::shared_ptr<const Graph> g, const Values& examples) -> Boxed {
    return [&emptied, run = nop(std::move(g), examples)](Values& arguments) {
      Values results = run(arguments);
      emptied += arguments.empty();
      return results;
    };
  };
  const AotFunction f =
      aot_function([](const TensorList& in) { return TensorList{in[0].sin() * in[1].cos() * in[2].sin()}; }, {.forward = boxed});
  f(TensorList{tracked(randn({5})), tracked(randn({5})), tracked(randn({5}))})[0].sum().backward();
  EXPECT_EQ(emptied, 2);
}

TEST_F(AotTraining, A113_OneTensorTwice) {
  const Tensor x = tracked(randn({3, 3}));
  verify([](const TensorList& in) { return TensorList{in[0] + in[1]}; }, {x, x});
}

TEST_F(AotTraining, A114_BothNamesOfATensorChangeHowItLooks) {
  const auto f = [](const TensorList& in) {
    aten_value<"t_">(in[0]);
    aten_value<"unsqueeze_">(in[1], 0);
    return TensorList{in[0] + in[1]};
  };
  const Tensor x = tracked(randn({3, 3})).clone();
  verify(f, {x, x});
}

TEST_F(AotTraining, A115_AWrittenTensorIsReturnedUnderItsOtherName) {
  const auto f = [](const TensorList& in) {
    in[0][0].add_(1);
    return TensorList{in[2]};
  };
  const Tensor a = ones({2}), b = ones({2}), c = ones({2}), d = ones({2});
  const Tensor want = f({a, b, a})[0], found = aot_function(f)(TensorList{c, d, c})[0];
  EXPECT_EQ(found.to_vector<double>(), want.to_vector<double>());
  EXPECT_EQ(c.to_vector<double>(), a.to_vector<double>());
  EXPECT_TRUE(found.is_same(c));
}

TEST_F(AotTraining, A121_ACustomFunctionWithoutGradients) {
  verify(
      [](const TensorList& in) {
        return custom_function(
            "Plus", {in[0]}, [](FunctionContext&, const TensorList& x) { return TensorList{x[0].clone()}; },
            [](FunctionContext&, const TensorList& g) { return TensorList{g[0] + 1}; });
      },
      {randn({3})});
}

TEST_F(AotTraining, A127_SizesAreKeptAndNotTheWrittenInput) {
  const auto f = [](const TensorList& in) {
    Tensor b = in[0][0];
    const Tensor c = aten<"ones_like">(b, boolean);
    return TensorList{aten_value<"masked_fill_.Scalar">(b, c, 0).tensor()};
  };
  std::string forward, backward;
  const AotOptions options{.forward = capture(forward), .backward = capture(backward), .dynamic = true};
  const Tensor x = tracked(ones({2, 2})), y = tracked(ones({2, 2}));
  const Tensor want = f({x.clone()})[0], found = aot_function(f, options)(TensorList{y.clone()})[0];
  want.sum().backward();
  found.sum().backward();
  EXPECT_EQ(detached(found).to_vector<double>(), detached(want).to_vector<double>());
  EXPECT_EQ(y.grad().to_vector<double>(), x.grad().to_vector<double>());
  // PyTorch's graphs, but that equal sizes are one symbol, and are kept once. What is kept is the
  // mask and sizes.
  EXPECT_EQ(forward, R"(def forward(self, primals_1):
    clone = torch.ops.aten.clone.default(primals_1)
    select = torch.ops.aten.select.int(clone, 0, 0)
    ones_like = torch.ops.aten.ones_like.default(select, dtype = torch.bool)
    masked_fill = torch.ops.aten.masked_fill.Scalar(select, ones_like, 0);  select = None
    select_scatter = torch.ops.aten.select_scatter.default(clone, masked_fill, 0, 0);  clone = masked_fill = None
    select_1 = torch.ops.aten.select.int(select_scatter, 0, 0)
    sym_size_int = torch.ops.aten.sym_size.int(primals_1, 0);  primals_1 = None
    return [select_scatter, select_1, ones_like, sym_size_int]
)");
  EXPECT_TRUE(backward.starts_with("def forward(self, sym_size_int, ones_like, tangents_1):\n")) << backward;
}

TEST_F(AotTraining, A131_AnInputThatStartsToRequireGrad) {
  std::string forward, backward;
  const auto f = [](const TensorList& in) { return TensorList{Tensor(in[0]).add_(in[1])}; };
  const AotFunction compiled =
      aot_function(f, {.forward = capture(forward), .backward = capture(backward), .keep_inference_input_mutations = true});
  const Tensor x = ones({20, 100}), y = tracked(ones({20, 100})), x2 = ones({20, 100}), y2 = tracked(ones({20, 100}));
  const Tensor want = f({x, y})[0], found = compiled(TensorList{x2, y2})[0];
  EXPECT_EQ(detached(found).to_vector<double>(), detached(want).to_vector<double>());
  want.sum().backward();
  found.sum().backward();
  EXPECT_EQ(y2.grad().to_vector<double>(), y.grad().to_vector<double>());
  EXPECT_EQ(forward, R"(def forward(self, primals_1, primals_2):
    clone = torch.ops.aten.clone.default(primals_1);  primals_1 = None
    add = torch.ops.aten.add.Tensor(clone, primals_2);  clone = primals_2 = None
    return [add, add]
)");
  EXPECT_EQ(backward, "def forward(self, tangents_1):\n    return [None, tangents_1]\n");
}

// Section 7: runs the graph, and these of its results come back as tensors of which autograd knows
// no base and no view.
Compiler stripping(const std::vector<std::size_t>& results) {
  return [results](std::shared_ptr<const Graph> g, const Values& examples) -> Boxed {
    return [results, run = nop(std::move(g), examples)](Values& arguments) {
      Values out = run(arguments);
      for (const std::size_t k : results) {
        const Tensor t = out[k].tensor();
        out[k] = make_alias(t, t->geom);
        EXPECT_EQ(autograd_meta(out[k].tensor()), nullptr);
      }
      return out;
    };
  };
}

TEST_F(AotTraining, A134_A135_A136_R159_ViewsAreReplayed) {
  const auto outputs = [](const Function& f, const std::vector<std::size_t>& stripped) {
    return aot_function(f, {.forward = stripping(stripped)})(TensorList{tracked(ones({2, 2}))});
  };
  EXPECT_EQ(outputs([](const TensorList& in) { return TensorList{in[0].view({-1})}; }, {0})[0].grad_fn_name(), "ViewBackward0");
  for (const Tensor& t : outputs(
           [](const TensorList& in) {
             const Tensor b = in[0].clone();
             return TensorList{b.view({-1}), b.view({-1})};
           },
           {0, 1}))
    EXPECT_EQ(t.grad_fn_name(), "ViewBackward0");
  const TensorList both = outputs(
      [](const TensorList& in) {
        const Tensor b = in[0] + 10;
        return TensorList{b, b.view({-1})};
      },
      {1});
  EXPECT_EQ(both[0]->storage, both[1]->storage);
  EXPECT_EQ(both[1].grad_fn_name(), "ViewBackward0");
}

TEST_F(AotTraining, R139_R150_TheNodeHasANameAndNoSecondDerivative) {
  const Tensor x = tracked(randn({3})),
               y = aot_function([](const TensorList& in) { return TensorList{in[0].sin()}; })(TensorList{x})[0];
  EXPECT_EQ(y.grad_fn_name(), "CompiledFunctionBackward");
  const Tensor g = grad({y.sum()}, {x}, {}, {.create_graph = true})[0];
  EXPECT_EQ(error_of([&] { g.sum().backward(); }), "torch.compile with aot_autograd does not currently support double backward");
}

TEST_F(AotTraining, R022_R138_TheGradModeThatTheFunctionLeaves) {
  const AotFunction f = aot_function([](const TensorList& in) {
    thread_state().grad_mode = false;
    return TensorList{in[0] + 1};
  });
  const Scoped<bool> restore(thread_state().grad_mode, true);
  f(TensorList{randn({2})});
  EXPECT_FALSE(is_grad_enabled());
}

}  // namespace
}  // namespace ingot::aot
