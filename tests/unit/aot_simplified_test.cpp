// The entry that compiles at once, from arguments or from fakes of them: A116 to A120 and A186 to
// A192 of the dispatch specification.
#include "aot/context.hpp"
#include "aot/inputs.hpp"
#include "graph/interpret.hpp"
#include "op/source_note.hpp"
#include "support/aot_harness.hpp"
#include "support/tracked.hpp"

namespace ingot::aot {
namespace {

class AotSimplified : public AotHarness {
 protected:
  void SetUp() override {
    AotHarness::SetUp();
    number_from(0);
  }

  struct Stateless : nn::Module {};
  Stateless none_;

  // Fakes with every size open, and the environment of their symbols.
  struct Fakes {
    std::shared_ptr<ShapeEnv> sizes = std::make_shared<ShapeEnv>();
    Values values;
    explicit Fakes(const TensorList& examples) {
      const Values all(examples.begin(), examples.end());
      const GuardScope scope(*sizes);
      values = fake_inputs(all, every_size_open(all), *sizes);
    }
  };
  static Tensor at(const Tree& a, std::size_t k) { return a[k].leaf().tensor(); }

  // Compiled from the tensors, or from fakes of them.
  FlatCallable compiled(const TreeFunction& f, const TensorList& examples, bool fakes) {
    if (!fakes) return aot_module_simplified(none_, f, Values(examples.begin(), examples.end()), {.debug_assert = true});
    const Fakes made(examples);
    return aot_module_simplified(none_, f, made.values, {.sizes = made.sizes, .debug_assert = true});
  }
  static std::vector<double> values(const Tensor& t) { return detached(t).to_vector<double>(); }

  void expect_refusal_of_other_repeats(bool fakes);
  void expect_refusal_of_gradients(bool fakes);
};

Tensor inner() { return tracked(randn({3, 3})).clone(); }

constexpr std::string_view kNoDuplicate =
    " was compiled under the assumption that input 1 would be a duplicate of input 0, but at runtime this was not the case.  This indicates a guard bug in "
    "AOTAutograd or Dynamo, please file a bug to PyTorch.";
constexpr std::string_view kRequiresGrad =
    " was compiled under the assumption that input 1 would not require grad, but at runtime this was not the case.  This indicates a guard bug in "
    "AOTAutograd or Dynamo, please file a bug to PyTorch.";

TEST_F(AotSimplified, A116_R197_TheFirstOfTwoNamesIsWritten) {
  const TreeFunction f = [](const Tree& a) {
    aten_value<"t_">(at(a, 0));
    return Tree::tuple({at(a, 0) + at(a, 1)});
  };
  const Tensor x = inner(), y = tracked(randn({3, 3}));
  verify_tree(f, {x, x}, {.derived = false});  // graphs 0 and 1
  const FlatCallable g = compiled(f, {x, x}, false);
  EXPECT_EQ(error_of([&] { g({x, y}); }), text("At compilation time, graph 2", kNoDuplicate));
  verify_tree(f, {x, x});
}

void AotSimplified::expect_refusal_of_other_repeats(bool fakes) {
  const TreeFunction f = [](const Tree& a) {
    aten_value<"unsqueeze_">(at(a, 0), 0);
    aten_value<"unsqueeze_">(at(a, 1), 0);
    return Tree::tuple({at(a, 0) + at(a, 1)});
  };
  const auto expect_eager = [&](const FlatCallable& g, bool twice) {
    const Tensor x = inner(), y = twice ? x : inner(), x2 = detached(x).clone(), y2 = twice ? x2 : detached(y).clone();
    EXPECT_EQ(values(g({x, y})[0].tensor()), values(f(Tree::tuple({x2, y2}))[0].leaf().tensor()));
    EXPECT_EQ(x.sizes(), x2.sizes());
    EXPECT_EQ(y.sizes(), y2.sizes());
  };
  const FlatCallable apart = compiled(f, {inner(), inner()}, fakes);
  expect_eager(apart, false);
  const Tensor one = inner();
  EXPECT_EQ(error_of([&] { apart({one, one}); }), "no error");
  const Tensor same = inner();
  const FlatCallable repeated = compiled(f, {same, same}, fakes);
  expect_eager(repeated, true);
  EXPECT_EQ(error_of([&] { repeated({inner(), inner()}); }), text("At compilation time, graph 1", kNoDuplicate));
}

TEST_F(AotSimplified, A117_ACallThatRepeatsOtherwise) { expect_refusal_of_other_repeats(false); }
TEST_F(AotSimplified, A118_ACallThatRepeatsOtherwiseThanFakes) { expect_refusal_of_other_repeats(true); }

void AotSimplified::expect_refusal_of_gradients(bool fakes) {
  const TreeFunction f = [](const Tree& a) { return Tree::tuple({at(a, 0) + at(a, 1)}); };
  const Tensor x = tracked(randn({3, 3})), y = tracked(randn({3, 3})), z = randn({3, 3});
  const auto expect_eager = [&](const FlatCallable& g, const Tensor& a, const Tensor& b) {
    const Tensor found = g({a, b})[0].tensor(), want = a + b;
    EXPECT_EQ(values(found), values(want));
    for (const Tensor& in : {a, b}) {
      if (!in.requires_grad()) continue;
      EXPECT_EQ(values(grad({found.sum()}, {in}, {}, {.retain_graph = true})[0]),
                values(grad({want.sum()}, {in}, {}, {.retain_graph = true})[0]));
    }
  };
  const FlatCallable both = compiled(f, {x, y}, fakes);
  expect_eager(both, x, y);
  expect_eager(both, x, z);
  const FlatCallable first = compiled(f, {x, z}, fakes);
  expect_eager(first, x, z);
  EXPECT_EQ(error_of([&] { first({x, y}); }), text("At compilation time, graph 1", kRequiresGrad));
}

TEST_F(AotSimplified, A119_R154_AnArgumentThatRequiresGradAfterAll) { expect_refusal_of_gradients(false); }
TEST_F(AotSimplified, A120_AnArgumentThatRequiresGradUnlikeItsFake) { expect_refusal_of_gradients(true); }

TEST_F(AotSimplified, R154_OnlyDebugAssertLooksAtGradientsAndANonTensorMustStayOne) {
  const TreeFunction f = [](const Tree& a) { return Tree::tuple({at(a, 0) * 2}); };
  const Tensor x = tracked(randn({2}));
  const FlatCallable unchecked = aot_module_simplified(none_, [](const Tree& a) { return Tree::tuple({at(a, 0) + at(a, 1)}); },
                                                       {x, randn({2})}, {.guards = false});
  EXPECT_EQ(error_of([&] { unchecked({x, x}); }), "no error");
  const FlatCallable checked = aot_module_simplified(none_, f, {x, 1}, {.debug_assert = true});
  EXPECT_EQ(error_of([&] { checked({x, 2}); }), "no error");
  EXPECT_EQ(error_of([&] { checked({x, x}); }).substr(0, 97),
            "At compilation time, graph 1 was compiled under the assumption that input 1 would not be a tensor");
}

// As the listing has it.
std::string python_text(const Guard& g) {
  EXPECT_TRUE(g.answer && g.condition.op() == ExprOp::Eq) << text(g.condition);
  return text(" - Eq(", g.condition.arg(0), ", ", g.condition.arg(1), ")\n");
}

struct LinearPlus : nn::Module {
  nn::Linear linear{20, 30};
  LinearPlus() { add("linear", linear); }
  TreeFunction forward() {
    return [this](const Tree& a) { return Tree::tuple({linear(a[0].leaf().tensor()) + a[1].leaf().tensor()}); };
  }
};

TEST_F(AotSimplified, A186_A187_R006_AModuleFromTensorsAndFromFakes) {
  const Tensor x = tracked(randn({128, 20})), y = tracked(randn({128, 30}));
  for (const bool fakes : {false, true}) {
    LinearPlus m;
    const Fakes made({x, y});
    const FlatCallable g = fakes ? aot_module_simplified(m, m.forward(), made.values, {.sizes = made.sizes})
                                 : aot_module_simplified(m, m.forward(), {x, y});
    const Tensor found = g({x, y})[0].tensor(), want = m.forward()(Tree::tuple({x, y}))[0].leaf().tensor();
    EXPECT_EQ(values(found), values(want));
    const TensorList gf = grad({found.sum()}, {x, y}), gw = grad({want.sum()}, {x, y});
    for (std::size_t k = 0; k < 2; k++) EXPECT_EQ(values(gf[k]), values(gw[k]));
    if (!fakes) continue;
    std::string guards;
    for (const Guard& guard : made.sizes->guards()) guards += python_text(guard);
    EXPECT_EQ(guards, " - Eq(s1, 20)\n - Eq(s2, 30)\n");
    const Tensor wide = randn({7, 20}), other = randn({7, 30});
    EXPECT_EQ(g({wide, other})[0].tensor().sizes(), Shape({7, 30})) << "the batch is open";
  }
}

TEST_F(AotSimplified, A188_ACopyOfAConstant) {
  const Tensor one = tensor({1}, int64);
  const TreeFunction f = [&](const Tree& a) { return Tree::tuple({at(a, 0) * aten<"lift_fresh_copy">(one)}); };
  const Tensor x = tracked(ones({4}));
  EXPECT_EQ(values(compiled(f, {x}, true)({x})[0].tensor()), values(f(Tree::tuple({x}))[0].leaf().tensor()));
}

TEST_F(AotSimplified, A189_BilinearUpsamplingOfOpenSizes) {
  const TreeFunction f = [](const Tree& a) {
    return Tree::tuple({aten<"upsample_bilinear2d.vec">(at(a, 0), Value(), true, Value(std::vector<double>{2, 2}))});
  };
  const Tensor x = randn({2, 512, 40, 59});
  const FlatCallable g = compiled(f, {x}, true);
  const Tensor small = randn({2, 3, 5, 4});
  EXPECT_EQ(values(g({small})[0].tensor()), values(f(Tree::tuple({small}))[0].leaf().tensor()));
}

// A graph whose nodes say where they were written, as a function.
TreeFunction graph_of(const TensorFunction& f, const TensorList& examples) {
  const auto traced = std::make_shared<const Traced>(trace(f, examples));
  for (const auto& n : traced->graph.nodes())
    EXPECT_TRUE(n->kind == NodeKind::placeholder || n->stack_trace.find(__FILE__) != std::string::npos) << n->name;
  return [traced](const Tree& a) {
    Values in;
    for (const Tree& t : a.children()) in.push_back(t.leaf());
    const Values out = Interpreter(traced->graph).run(in);
    return Tree::tuple({out.begin(), out.end()});
  };
}
Ref<SourceNote> note(int line, const std::string& code) {
  return make_ref<SourceNote>(text("  File \"", __FILE__, "\", line ", line, ", in forward\n    ", code, "\n"), "");
}

TEST_F(AotSimplified, A190_R106_NodesSayWhereTheyWereWritten) {
  nn::Linear linear(20, 30);
  const Tensor x = tracked(randn({128, 20})), y = tracked(randn({128, 30}));
  const TreeFunction f = graph_of(
      [&](const TensorList& in) {
        Tensor z;
        {
          const SourceScope at(note(__LINE__, "z = linear(x)"));
          z = linear(in[0]);
        }
        {
          const SourceScope at(note(__LINE__, "z = z + y"));
          z = z + in[1];
        }
        const SourceScope at(note(__LINE__, "z = relu(z)"));
        return TensorList{z.relu()};
      },
      {x, y});
  int checked = 0;
  const Compiler check = [&](std::shared_ptr<const Graph> g, const Values& examples) {
    for (const auto& n : g->nodes()) {
      if (n->kind == NodeKind::placeholder || n->kind == NodeKind::attribute) continue;
      checked++;
      EXPECT_NE(n->stack_trace.find(__FILE__), std::string::npos) << n->name << " of\n" << print(*g);
    }
    return nop(std::move(g), examples);
  };
  aot_module_simplified(none_, f, {x, y}, {.forward = check, .backward = check})({x, y})[0].tensor().sum().backward();
  EXPECT_GT(checked, 6) << "both graphs have nodes";
}

TEST_F(AotSimplified, A191_R096_ACopyIntoAnInputSaysWhereTheWriteWas) {
  const Tensor x = randn({128, 20});
  const TreeFunction f = graph_of(
      [](const TensorList& in) {
        Tensor view;
        {
          const SourceScope at(note(__LINE__, "x_view = x[0]"));
          view = in[0][0];
        }
        {
          const SourceScope at(note(__LINE__, "x_view.mul_(2)"));
          view.mul_(2);
        }
        const SourceScope at(note(__LINE__, "return x + x"));
        return TensorList{in[0] + in[0]};
      },
      {x});
  int copies = 0;
  const Compiler check = [&](std::shared_ptr<const Graph> g, const Values& examples) {
    for (const auto& n : g->nodes()) {
      if (n->kind != NodeKind::call || n->op->name != "copy_") continue;
      copies++;
      EXPECT_NE(n->stack_trace.find("x_view.mul_(2)"), std::string::npos) << n->stack_trace;
    }
    return nop(std::move(g), examples);
  };
  aot_module_simplified(none_, f, {x}, {.forward = check, .keep_inference_input_mutations = true})({x});
  EXPECT_EQ(copies, 1);
}

TEST_F(AotSimplified, A192_R107_AFakeThatTheModuleBringsAlong) {
  const Tensor x = tracked(randn({4}));
  const Fakes made({x});
  const Tensor z = Fakes({randn({4})}).values[0].tensor();
  const TreeFunction f = [&](const Tree& a) { return Tree::tuple({at(a, 0) + z}); };
  const std::string message = error_of([&] { aot_module_simplified(none_, f, made.values, {.sizes = made.sizes}); });
  EXPECT_TRUE(message.starts_with("Unexpected fake")) << message;
}

TEST_F(AotSimplified, R006_OutputsMustBeATupleOrList) {
  const Values x{randn({2})};
  const auto compile_for = [&](const TreeFunction& f) { return error_of([&] { aot_module_simplified(none_, f, x); }); };
  EXPECT_EQ(
      compile_for([](const Tree& a) { return Tree(at(a, 0) + 1); }),
      "Graph output must be a tuple(). This is so that we can avoid pytree processing of the outputs. Please change the module to have tuple outputs or use "
      "aot_module instead.");
  EXPECT_EQ(compile_for([](const Tree& a) { return Tree::list({at(a, 0) + 1}); }), "no error");
  EXPECT_EQ(
      compile_for([](const Tree& a) { return Tree::tuple({Tree::tuple({at(a, 0) + 1})}); }),
      "Found builtins.tuple in output, which is not a known type. If this type holds tensors, you need to register a pytree for it.");
}

TEST_F(AotSimplified, R006_R013_SizesAreOpenExactlyWhereAFakeHasSymbols) {
  std::string graph;
  const TreeFunction f = [](const Tree& a) { return Tree::tuple({at(a, 0).view({-1}), at(a, 1) * a[2].leaf().to_scalar()}); };
  const Tensor x = randn({4, 6}), y = randn({5});
  const auto inputs = [&](const Values& examples, std::shared_ptr<ShapeEnv> sizes) {
    std::string kinds;
    const Compiler see = [&](std::shared_ptr<const Graph> g, const Values& given) {
      for (const Value& v : given)
        kinds += text(kinds.empty() ? "" : " ", v.is_tensor() ? to_text(v.tensor().sizes()) : to_text(v));
      return nop(std::move(g), given);
    };
    aot_module_simplified(none_, f, examples, {.forward = see, .dynamic = true, .sizes = std::move(sizes)});
    return kinds;
  };
  EXPECT_EQ(inputs({x, y, 3}, {}), "[4, 6] [5] 3") << "no example is a fake";
  const Fakes open({x});
  EXPECT_EQ(inputs({open.values[0], y, 3}, open.sizes), "[s0, s1] [s2] s3")
      << "then everything is open, under names that are free";
  const Values closed = make_fakes({x}, {}, *open.sizes);
  EXPECT_EQ(inputs({closed[0], y, 3}, open.sizes), "[4, 6] [5] 3");
  EXPECT_TRUE(
      error_of([&] { inputs({open.values[0], y, 3}, {}); }).starts_with("the arguments to compile for are fakes with open sizes"))
      << "whose are they?";
}

TEST_F(AotSimplified, R131_ArgumentsThatAreMovedInAreLetGoByTheGraph) {
  int64_t freed = 0;
  const Compiler emptying = [&](std::shared_ptr<const Graph> g, const Values& examples) -> Boxed {
    return [&freed, run = nop(std::move(g), examples)](Values& arguments) {
      Values own = arguments;
      Values results = run(own);
      own.clear();
      const int64_t before = Storage::live_bytes();
      arguments.clear();
      freed = before - Storage::live_bytes();
      return results;
    };
  };
  const TreeFunction f = [](const Tree& a) {
    Tensor(at(a, 1)).add_(1);
    return Tree::tuple({at(a, 0).sum(), at(a, 2).view({-1}), at(a, 1) * 2});
  };
  const auto arguments = [] { return Values{ones({100}), ones({200}), ones({20, 20})}; };
  const FlatCallable g = aot_module_simplified(none_, f, arguments(), {.forward = emptying});
  const Values out = g(arguments());
  EXPECT_EQ(freed, 100 * 4) << "but not what is written back or viewed afterwards";
  EXPECT_EQ(values(out[1].tensor()), std::vector<double>(400, 1));
  const Values held = arguments();
  g(held);
  EXPECT_EQ(freed, 0) << "the caller has them";
}

TEST_F(AotSimplified, R006_ParametersAreReadWhenCompiledByReference) {
  nn::Linear m(2, 2);
  const TreeFunction forward = [&](const Tree& a) { return Tree::tuple({m(at(a, 0))}); };
  const Tensor x = randn({1, 2});
  const FlatCallable g = aot_module_simplified(m, forward, {x});
  const NoGrad scope;
  m.weight.mul_(2);
  EXPECT_EQ(values(g({x})[0].tensor()), values(m(x))) << "written in place";
  const std::vector<double> before = values(g({x})[0].tensor());
  m.weight = zeros({2, 2});
  EXPECT_EQ(values(g({x})[0].tensor()), before) << "another tensor is none of its business";
}

}  // namespace
}  // namespace ingot::aot
