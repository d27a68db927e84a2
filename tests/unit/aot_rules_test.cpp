// Rules of the AOT layer that no entry of the dispatch specification is about alone, and entries
// that need a test of their own kind.
#include <cmath>

#include "aot/graphs.hpp"
#include "ingot/state.hpp"
#include "support/tracked.hpp"
#include "tensor/storage.hpp"
#include "support/aot_harness.hpp"

namespace ingot::aot {
namespace {

using AotRules = AotHarness;

void expect_error(const std::function<void()>& action, const std::string& what) {
  const std::string error = error_of(action);
  EXPECT_NE(error.find(what), std::string::npos) << error;
}
// The joint graph of the function for these arguments.
std::string joint_of(const TensorFunction& f, const TensorList& arguments, AotOptions options = {}) {
  std::string graph;
  options.partition = [&](const Joint& j) {
    graph = print(j.graph);
    return partition_default(j);
  };
  aot_function(f, options)(arguments);
  return graph;
}

// ---- entries

TEST_F(AotRules, A031_AWriteIsSeenByOlderViews) {
  const auto f = [](const TensorList& in) {
    Tensor(in[0]).mul_(2);
    return TensorList{(in[0] + 1).detach()};
  };
  struct Seen {
    std::vector<double> values;
    uint32_t version;
    std::string history;
    bool x_has_gradient, v_has_gradient;
    bool operator==(const Seen&) const = default;
  };
  std::vector<Seen> seen;
  const AotFunction compiled = aot_function(f, {.keep_inference_input_mutations = true});
  for (const bool compile : {false, true}) {
    const Tensor x = tracked(ones({3, 3})).clone(), v = x.view({3, 3});
    compile ? compiled(TensorList{x}) : f({x});
    const std::string history = v.grad_fn_name();
    (x * v).sum().backward();
    seen.push_back({detached(v).to_vector<double>(), v.version(), history, x.grad().defined(), v.grad().defined()});
  }
  EXPECT_TRUE(seen[0] == seen[1]) << seen[0].history << seen[0].version << " and " << seen[1].history << seen[1].version;
  EXPECT_EQ(seen[1].history, "AsStridedBackward0");
}

// That the caller's input requires grad afterwards is in
// AotVariants.AnArgumentThatBeginsToRequireGradDoesSo.
TEST_F(AotRules, A081_AnInputStartsToRequireGrad) {
  const auto f = [](const TensorList& in) {
    Tensor(in[0]).requires_grad_();
    const Tensor a = in[0] * 3;
    return TensorList{a, in[1] * 4};
  };
  EXPECT_EQ(verify(f, TensorList{ones({3, 3}), tracked(ones({3, 3}))}, {.mut = true, .begins_to_require_grad = true}),
            R"(def forward(self, primals_1, primals_2):
    mul = torch.ops.aten.mul.Tensor(primals_1, 3);  primals_1 = None
    mul_1 = torch.ops.aten.mul.Tensor(primals_2, 4);  primals_2 = None
    return [mul, mul_1]
)");
}

TEST_F(AotRules, A090_R142_SavedViewsKeepNothingAlive) {
  const auto f = [](const TensorList& in) {
    const Tensor s = in[0] + in[0], g = s.split(4, 1)[1];
    return TensorList{g, g.unsqueeze(-1) * in[1]};
  };
  const AotFunction compiled = aot_function(f);
  const TensorList in{tracked(ones({8, 8})), tracked(ones({1, 4, 1}))};
  compiled(in);
  const int64_t before = Storage::live_bytes();
  compiled(in);
  EXPECT_EQ(Storage::live_bytes(), before);
}

TEST_F(AotRules, A097_NoBaseAndNoGradients) {
  const auto f = [](const TensorList& in) {
    Tensor(in[0]).mul_(2);
    return TensorList{in[1] + 1, in[2] + 1};
  };
  const auto factory = [](bool rg) -> Factory {
    return [rg] {
      const Tensor base = ones({2, 2}), x = base + 1, c = rg ? tracked(ones({2, 2})) : ones({2, 2});
      return Made{{base, c}, {x.view({-1}), x.view({-1}), c}};
    };
  };
  verify(f, factory(false), {.mut = true});
  EXPECT_EQ(verify(f, factory(true), {.mut = true}), R"(def forward(self, primals_1, primals_2):
    as_strided = torch.ops.aten.as_strided.default(primals_1, [4], [1], 0)
    mul = torch.ops.aten.mul.Tensor(as_strided, 2);  as_strided = None
    as_strided_scatter = torch.ops.aten.as_strided_scatter.default(primals_1, mul, [4], [1], 0);  primals_1 = mul = None
    as_strided_3 = torch.ops.aten.as_strided.default(as_strided_scatter, [4], [1], 0)
    add = torch.ops.aten.add.Tensor(as_strided_3, 1);  as_strided_3 = None
    add_1 = torch.ops.aten.add.Tensor(primals_2, 1);  primals_2 = None
    return [as_strided_scatter, add, add_1]
)");
}

TEST_F(AotRules, A137_R157_R159_SizesOfTheCallDecideHowAViewIsTakenAgain) {
  const AotFunction f = aot_function(
      [](const Tree& a) {
        const Tensor x = a[0].leaf().tensor();
        return Tree::tuple({x.view({a[1].leaf().to_int()}), x.view({-1})});
      },
      {.dynamic = true});
  const Tree out = f(Tree::tuple({tracked(ones({2, 2})), Tree(Value(4))}));
  EXPECT_EQ(out[0].leaf().tensor().grad_fn_name(), "AsStridedBackward0");
  EXPECT_EQ(out[1].leaf().tensor().grad_fn_name(), "ViewBackward0");
}

// ---- inputs that share memory (7.2)

TensorList add_to_first(const TensorList& in) {
  Tensor(in[0]).add_(1);
  return {in[0] + in[1]};
}

// What is saved is tensors, by the tape's own way, and sizes, which the context has.
TEST_F(AotRules, R142_SavedTensorsAndSavedSizes) {
  const auto f = [](const TensorList& in) { return TensorList{in[0].sum() * in[1].sin().sum()}; };
  const auto given = [&](const Compiler& forward, bool writes) {
    const Tensor x = tracked(ones({3})), y = tracked(ones({4}));
    const Tensor out =
        aot_function(TensorFunction(f), {.forward = forward, .backward = nop, .dynamic = true})(TensorList{x, y})[0];
    if (writes) {
      const NoGrad no_grad;
      Tensor(y).add_(1);
    }
    out.backward();
    return x.grad().to_vector<double>();
  };
  const double sine = 4 * std::sin(1.0);
  for (const double v : given(nop, false)) EXPECT_NEAR(v, sine, 1e-5);
  EXPECT_NE(error_of([&] { given(nop, true); }).find("modified by an inplace operation"), std::string::npos)
      << "the engine knows the saved tensor";
  // A compiler that returns something else where a tensor is to be saved.
  const Compiler wrong = [](std::shared_ptr<const Graph> g, const Values& examples) -> Boxed {
    return [run = nop(std::move(g), examples)](Values& arguments) {
      Values all = run(arguments);
      all[1] = 7;
      return all;
    };
  };
  EXPECT_TRUE(error_of([&] {
                given(wrong, false);
              }).starts_with("a compiled forward should return a tensor to save as result 1, found int"));
}

TEST_F(AotRules, R081_R082_R086_R087_R088_BasesComeFirst) {
  std::string graph;
  const auto f = [](const Tree& a) {
    Tensor x = a[2].leaf().tensor();
    x.add_(1);
    return Tree::tuple({a[3].leaf().tensor() + a[1].leaf().tensor()});
  };
  const Tensor memory = ones({4}), y = ones({2});
  aot_function(f, {.forward = capture(graph)})(Tree::tuple({Tree(Value(7)), y, memory.slice(0, 0, 2), memory.slice(0, 1, 3)}));
  EXPECT_TRUE(graph.starts_with(R"(def forward(self, arg0_1, arg1_1, arg2_1):
    as_strided = torch.ops.aten.as_strided.default(arg0_1, [2], [1], 0)
)")) << graph;
  EXPECT_NE(graph.find(", arg2_1)"), std::string::npos) << "after the base the integer, then the other tensor: " << graph;
  // Nothing is written, or nothing overlaps: every argument is an input of its own.
  const TensorFunction reads = [](const TensorList& in) { return TensorList{in[0] + in[1]}; };
  aot_function(reads, {.forward = capture(graph)})(TensorList{memory.slice(0, 0, 2), memory.slice(0, 1, 3)});
  EXPECT_EQ(graph.find("as_strided"), std::string::npos);
}

TEST_F(AotRules, R085_OnlyViewsOfOneTypeShareABase) {
  const Tensor memory = ones({4});
  expect_error(
      [&] {
        aot_function(TensorFunction([](const TensorList& in) {
          Tensor(in[0]).add_(1);
          return TensorList{in[0] + 1, in[1] + 1};
        }))(TensorList{memory, memory.view(DType::i32)});
      },
      "aot_autograd() does not yet handle input mutations on views with different dtypes.");
  const Tensor x = tracked(ones({4})) + 1;
  expect_error([&] { aot_function(TensorFunction(add_to_first))(TensorList{x.detach(), x}); },
               "aot_autograd() does not yet handle non-differentiable view input mutations.");
}

TEST_F(AotRules, R084_ManyInputsOnOneStorageWithOpenSizes) {
  const Tensor memory = ones({8});
  TensorList views;
  for (int64_t k = 0; k < 6; k++) views.push_back(memory.slice(0, 0, 8));
  expect_error([&] { aot_function(TensorFunction(add_to_first), {.dynamic = true})(views); }, R"(Encountered a graph where:
- 6 graph inputs all share the same storage (input indices: [0, 1, 2, 3, 4, 5])
- at least one of these aliased inputs was mutated
- at least one of these inputs is being compiled with dynamic shapes (indices: [0, 1, 2, 3, 4, 5])
Current limit: 5
Killswitch enabled: False)");
  EXPECT_EQ(aot_function(TensorFunction(add_to_first))(views)[0].to_vector<double>(), std::vector<double>(8, 4.0))
      << "fixed sizes are fine";
}

TEST_F(AotRules, R089_R091_TheyHaveToShareItInEveryCall) {
  const AotFunction f = aot_function(TensorFunction(add_to_first), {.guards = false});
  const Tensor memory = ones({4}), other = ones({4});
  f(TensorList{memory.slice(0, 0, 2), memory.slice(0, 1, 3)});
  expect_error([&] { f(TensorList{memory.slice(0, 0, 2), other.slice(0, 1, 3)}); },
               "was compiled for arguments 0 and 1 that share memory");
}

// ---- graphs (section 8)

TEST_F(AotRules, R093_R094_R095_R097_R098_TheGraphWithoutGradients) {
  std::shared_ptr<const Graph> graph;
  const auto keep_graph = [&](std::shared_ptr<const Graph> g, const Values& examples) {
    graph = g;
    for (const Node* n : g->inputs()) EXPECT_TRUE(n->meta.is_tensor());
    EXPECT_EQ(examples.size(), g->inputs().size());
    return nop(std::move(g), examples);
  };
  const TensorFunction f = [](const TensorList& in) {
    in[1].sin();  // of no use
    Tensor(in[0]).mul_(2);
    return TensorList{in[0] + in[1], in[0]};
  };
  aot_function(f, {.forward = keep_graph})(TensorList{ones({2}), ones({2})});
  EXPECT_EQ(print(*graph), R"(def forward(self, arg0_1, arg1_1):
    mul = torch.ops.aten.mul.Tensor(arg0_1, 2);  arg0_1 = None
    add = torch.ops.aten.add.Tensor(mul, arg1_1);  arg1_1 = None
    return (mul, add, mul)
)");
  for (const auto& n : graph->nodes()) EXPECT_TRUE(n->meta.is_tensor()) << n->name;
  aot_function(f, {.forward = keep_graph, .keep_inference_input_mutations = true})(TensorList{ones({2}), ones({2})});
  EXPECT_EQ(print(*graph), R"(def forward(self, arg0_1, arg1_1):
    mul = torch.ops.aten.mul.Tensor(arg0_1, 2)
    add = torch.ops.aten.add.Tensor(mul, arg1_1);  arg1_1 = None
    copy_ = torch.ops.aten.copy_.default(arg0_1, mul);  arg0_1 = mul = None
    return (add, copy_)
)");
}

TEST_F(AotRules, R099_R101_R102_R141_TheJointGraph) {
  const TensorFunction f = [](const TensorList& in) {
    Tensor(in[0]).mul_(in[1]);
    return TensorList{in[0] + in[2]};
  };
  EXPECT_EQ(joint_of(f, {tracked(ones({2})) + 1, tracked(ones({2})), ones({2})}),
            R"(def forward(self, primals_1, primals_2, primals_3, tangents_1, tangents_2):
    clone = torch.ops.aten.clone.default(primals_1);  primals_1 = None
    clone_1 = torch.ops.aten.clone.default(clone)
    mul = torch.ops.aten.mul.Tensor(clone, primals_2);  clone = None
    add = torch.ops.aten.add.Tensor(mul, primals_3);  primals_3 = None
    add_1 = torch.ops.aten.add.Tensor(tangents_1, tangents_2);  tangents_1 = tangents_2 = None
    mul_1 = torch.ops.aten.mul.Tensor(add_1, primals_2);  primals_2 = None
    mul_2 = torch.ops.aten.mul.Tensor(add_1, clone_1);  add_1 = clone_1 = None
    return (mul, add, mul_1, mul_2, None)
)");
}

TEST_F(AotRules, R100_R143_R145_BasesOfOutputsHaveTheTangents) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor t = in[0] * 3;
    return TensorList{t.view({-1}), t.view({4})};
  };
  EXPECT_EQ(joint_of(f, {tracked(ones({2, 2}))}), R"(def forward(self, primals_1, tangents_1):
    mul = torch.ops.aten.mul.Tensor(primals_1, 3);  primals_1 = None
    view = torch.ops.aten.view.default(mul, [-1])
    view_1 = torch.ops.aten.view.default(mul, [4])
    mul_1 = torch.ops.aten.mul.Tensor(tangents_1, 3);  tangents_1 = None
    return (view, view_1, mul, mul_1)
)");
}

TEST_F(AotRules, R105_R140_WritesInAGraphWithGradients) {
  const TensorFunction f = [](const TensorList& in) {
    Tensor(in[1]).add_(1);
    return TensorList{in[0] * in[1], in[1]};
  };
  EXPECT_EQ(joint_of(f, {tracked(ones({2})), ones({2})}, {.keep_inference_input_mutations = true}),
            R"(def forward(self, primals_1, primals_2, tangents_1):
    add = torch.ops.aten.add.Tensor(primals_2, 1)
    mul = torch.ops.aten.mul.Tensor(primals_1, add);  primals_1 = None
    mul_1 = torch.ops.aten.mul.Tensor(tangents_1, add);  tangents_1 = None
    copy_ = torch.ops.aten.copy_.default(primals_2, add);  primals_2 = add = None
    return (mul, copy_, mul_1, None)
)");
  const Tensor x = tracked(ones({2})), y = ones({2});
  const TensorList out = aot_function(f, {.keep_inference_input_mutations = true})(TensorList{x, y});
  EXPECT_TRUE(out[1].is_same(y));
  EXPECT_EQ(y.version(), 1u);
  out[0].sum().backward();
  EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{2, 2}));
}

// ---- the autograd function (10.3)

TEST_F(AotRules, R144_R153_OutputsWithoutGradients) {
  const TensorFunction f = [](const TensorList& in) { return TensorList{in[0] * 2, in[1] * 2, aten<"argmax">(in[0])}; };
  const Tensor x = tracked(ones({3})), y = ones({3});
  const TensorList out = aot_function(f)(TensorList{x, y});
  EXPECT_TRUE(requires_grad(out[0]) && !requires_grad(out[1]) && !requires_grad(out[2]));
  out[0].sum().backward();
  EXPECT_EQ(x.grad().to_vector<double>(), std::vector<double>(3, 2.0));
  EXPECT_FALSE(y.grad().defined());
}

TEST_F(AotRules, R146_ABackwardMadeOutsideOfDeterministicMode) {
  const AotFunction f = aot_function(TensorFunction([](const TensorList& in) { return TensorList{in[0].sin()}; }));
  const Tensor out = f(TensorList{tracked(ones({2}))})[0].sum();
  {
    const DeterministicGuard deterministic;
    expect_error(
        [&] { out.backward(); },
        "This compiled backward function is being run with torch.use_deterministic_algorithms(True), but it was previously generated "
        "during the forward function while torch.use_deterministic_algorithms(False) was set.");
  }
  const DeterministicGuard deterministic;
  const AotFunction again = aot_function(TensorFunction([](const TensorList& in) { return TensorList{in[0].sin()}; }));
  again(TensorList{tracked(ones({2}))})[0].sum().backward();
}

TEST_F(AotRules, R157_R158_AViewTakenAgainRequiresGradAsItDid) {
  const TensorFunction f = [](const TensorList& in) {
    return TensorList{in[0].view({-1}), in[0].detach().view({-1}), in[1].view({-1}).requires_grad_()};
  };
  const Tensor x = tracked(ones({2, 2})) + 1, y = ones({2, 2});
  const TensorList out = aot_function(f)(TensorList{x, y});
  EXPECT_EQ(out[0].grad_fn_name(), "ViewBackward0");
  EXPECT_FALSE(requires_grad(out[1]));
  EXPECT_TRUE(requires_grad(out[2]) && is_leaf(out[2]));
  for (std::size_t k = 0; k < 2; k++) EXPECT_EQ(out[k]->storage, x->storage);
  EXPECT_EQ(out[2]->storage, y->storage);
}

}  // namespace
}  // namespace ingot::aot
