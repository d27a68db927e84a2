// The entry point for functions: when it compiles, what goes in and out, in which order things
// happen (sections 1, 2, 4, 6 and 10).
#include "aot/dedupe.hpp"
#include "aot/graphs.hpp"
#include "aot/inputs.hpp"
#include "aot/metadata_record.hpp"
#include "aot/min_cut.hpp"
#include "aot/synthetic_base.hpp"
#include "aot/tracing_context.hpp"
#include "pass/decompose.hpp"
#include "support/aot_harness.hpp"
#include "support/tracked.hpp"

namespace ingot::aot {
namespace {

using AotEntry = AotHarness;

std::vector<double> values(const Tensor& t) { return detached(t).to_vector<double>(); }
Tensor at(const Tree& a, std::size_t k) { return a[k].leaf().tensor(); }

TEST_F(AotEntry, R001_CompiledAtTheFirstCallAndNeverAgain) {
  int compiled = 0;
  const Compiler counting = [&](std::shared_ptr<const Graph> g, const Values& examples) {
    compiled++;
    return nop(std::move(g), examples);
  };
  const AotFunction f =
      aot_function([](const Tree& a) { return Tree::dict({{Value("sum"), at(a[0], 0) + a[1].at("x").leaf().tensor()}}); },
                   {.forward = counting});
  EXPECT_EQ(compiled, 0);
  const auto arguments = [](const Tensor& x, const Tensor& y) {
    return Tree::tuple({Tree::list({x}), Tree::dict({{Value("x"), Tree(y)}})});
  };
  EXPECT_EQ(values(f(arguments(ones({2}), ones({2}))).at("sum").leaf().tensor()), (std::vector<double>{2, 2}));
  EXPECT_EQ(values(f(arguments(full({2}, 3.0), ones({2}))).at("sum").leaf().tensor()), (std::vector<double>{4, 4}));
  EXPECT_EQ(compiled, 1);
}

TEST_F(AotEntry, R003_OutputsAreNestedAsTheFunctionNestsThem) {
  const auto call = [](const std::function<Tree(const Tensor&)>& make) {
    return aot_function([make](const Tree& a) { return make(at(a, 0) + 1); })(Tree::tuple({ones({1})}));
  };
  EXPECT_TRUE(call([](const Tensor& t) { return Tree(t); }).is_leaf()) << "a bare tensor";
  EXPECT_EQ(call([](const Tensor& t) { return Tree::tuple({t, t}); }).type(), tree_types::kTuple);
  EXPECT_EQ(call([](const Tensor& t) { return Tree::list({t}); }).type(), tree_types::kList);
  const Tree nested =
      call([](const Tensor& t) { return Tree::list({Tree::dict({{Value("a"), Tree::tuple({t, Tree()})}}), Tree(t * 2)}); });
  EXPECT_EQ(values(nested[0].at("a")[0].leaf().tensor()), std::vector<double>{2});
  EXPECT_TRUE(nested[0].at("a")[1].leaf().is_none());
  EXPECT_EQ(values(nested[1].leaf().tensor()), std::vector<double>{4});
}

TEST_F(AotEntry, R003_HowTheyAreNestedMustNotChange) {
  int runs = 0;
  const TreeFunction fickle = [&](const Tree& a) {
    const Tensor t = at(a, 0) + 1;
    return runs++ == 0 ? Tree::tuple({t, t * 2}) : Tree::list({t, t * 2});
  };
  EXPECT_EQ(
      error_of([&] { aot_function(fickle)(Tree::tuple({ones({1})})); }),
      "the function nests its results as list(*, *) while it is traced, and as tuple(*, *) before. Does it depend on anything "
      "but its arguments?");
  // What another call asks for is a variant of its own.
  const AotFunction by_argument = aot_function([](const Tree& a) {
    const Tensor t = at(a, 0) + 1;
    return a[1].leaf().to_bool() ? Tree::tuple({t}) : Tree::list({t});
  });
  for (const bool tuple : {true, false, true})
    EXPECT_EQ(by_argument(Tree::tuple({ones({1}), Tree(Value(tuple))})).type(), tuple ? tree_types::kTuple : tree_types::kList);
}

TEST_F(AotEntry, R004_LeavesThatAreKnown) {
  const AotFunction f = aot_function([](const Tree& a) {
    return Tree::tuple({a[0], Tree(Value(7)), Tree(Value(0.5)), Tree(Value(true)), Tree(Value("text")), Tree()});
  });
  const Tree out = f(Tree::tuple({ones({1}), Tree(Value("name")), Tree(Value(false))}));
  EXPECT_EQ(out[1].leaf().to_int64(), 7);
  EXPECT_EQ(to_text(out[2].leaf()), "0.5");
  EXPECT_EQ(to_text(out[3].leaf()), "True");
  EXPECT_TRUE(out[4].leaf().is_string());
  EXPECT_TRUE(out[5].leaf().is_none());
  const std::string message =
      error_of([] { aot_function([](const Tree& a) { return Tree(Value(TensorList{at(a, 0)})); })(Tree::tuple({ones({1})})); });
  EXPECT_TRUE(message.starts_with("Found ")) << message;
  EXPECT_NE(
      message.find(" in output, which is not a known type. If this type holds tensors, you need to register a pytree for it."),
      std::string::npos)
      << message;
}

TEST_F(AotEntry, R007_OtherNames) {
  nn::Linear m(2, 2);
  const Tensor x = randn({1, 2});
  EXPECT_EQ(values(compiled_function([&](const Tree& a) { return Tree(at(a, 0).sin()); })(Tree::tuple({x})).leaf().tensor()),
            values(x.sin()));
  EXPECT_EQ(values(compiled_module(m, forward_of(m))(x)), values(m(x)));
  auto graph = std::make_shared<Graph>();
  graph->outputs = {graph->placeholder("x")};
  Values arguments{x};
  const Values out = nop(graph, {})(arguments);
  EXPECT_TRUE(out[0].tensor().is_same(x));
  EXPECT_TRUE(arguments.empty()) << "the list is the callee's";
}

TEST_F(AotEntry, R010_R011_WhatHoldsWhereNobodySaysOtherwise) {
  const AotOptions o;
  EXPECT_FALSE(o.backward || o.inference || o.decompositions || o.sizes);
  EXPECT_EQ(o.params_and_buffers, 0);
  EXPECT_FALSE(o.keep_inference_input_mutations || o.dynamic || o.debug_assert);
  EXPECT_TRUE(o.enable_log && o.static_weight_shapes);
  const MinCutOptions cut;
  EXPECT_EQ(cut.max_distance, 1000);
  EXPECT_TRUE(cut.ban_reductions && cut.ban_materialized);
}

TEST_F(AotEntry, R011_R013_SizesOfWeightsStayUnlessTheyAreAskedFor) {
  for (const bool are_static : {true, false}) {
    std::string sizes;
    const Compiler see = [&](std::shared_ptr<const Graph> g, const Values& examples) {
      for (const Value& v : examples) sizes += to_text(v.tensor().sizes());
      return nop(std::move(g), examples);
    };
    aot_function([](const TensorList& in) { return TensorList{in[0].sin(), in[1].sin()}; },
                 {.forward = see, .params_and_buffers = 1, .static_weight_shapes = are_static, .dynamic = true})(
        TensorList{randn({3}), randn({4})});
    EXPECT_EQ(sizes, are_static ? "[3][s0]" : "[s0][s1]");
  }
}

TEST_F(AotEntry, R012_DecompositionsAreTheCallersAlone) {
  const auto graph_with = [&](const Decompositions* d) {
    std::string graph;
    aot_function([](const TensorList& in) { return TensorList{silu(in[0])}; },
                 {.forward = capture(graph), .decompositions = d})(TensorList{randn({3})});
    return graph;
  };
  EXPECT_NE(graph_with(nullptr).find("aten.silu.default"), std::string::npos);
  const Decompositions own{{&op("silu"), [](const Call& c) { return Value(c.tensor(0) * c.tensor(0).sigmoid()); }}};
  EXPECT_NE(graph_with(&own).find("aten.sigmoid.default"), std::string::npos);
  EXPECT_EQ(graph_with(&own).find("aten.silu.default"), std::string::npos);
}

TEST_F(AotEntry, R016_R017_R019_WhichGraphIsMade) {
  const auto is_training = [&](const TensorFunction& f, const Tensor& x) {
    std::string graph;
    aot_function(f, {.forward = capture(graph)})(TensorList{x});
    return graph.find("primals_1") != std::string::npos;
  };
  const TensorFunction twice = [](const TensorList& in) { return TensorList{in[0] * 2}; };
  const Tensor leaf = tracked(randn({3}));
  EXPECT_TRUE(is_training(twice, leaf));
  EXPECT_FALSE(is_training(twice, randn({3}))) << "nothing requires grad";
  EXPECT_FALSE(is_training([](const TensorList& in) { return TensorList{in[0].detach() * 2}; }, leaf)) << "no output does";
  const auto written = [](bool seen) {
    return [seen](const TensorList& in) {
      const GradModeGuard mode(seen);
      Tensor(in[0]).mul_(2);
      return TensorList{in[0].detach() + 1};
    };
  };
  EXPECT_FALSE(is_training(written(false), leaf * 1)) << "nobody's gradient sees the write";
  EXPECT_TRUE(is_training(written(true), leaf * 1)) << "the input's does";
  const NoGrad scope;
  EXPECT_FALSE(is_training(twice, leaf)) << "the mode at the call decides";
}

Metadata record_of(const TensorFunction& f, const TensorList& inputs, bool keep = false) {
  ShapeEnv env;
  const GuardScope scope(env);
  const FlatFunction flat = [&](const Values& in) {
    TensorList l;
    for (const Value& v : in) l.push_back(v.tensor());
    const TensorList out = f(l);
    return Values(out.begin(), out.end());
  };
  return collect_metadata(flat, fake_inputs(Values(inputs.begin(), inputs.end()), {}, env), keep, true);
}

TEST_F(AotEntry, R040_R044_R045_RecordsAreValues) {
  const TensorFunction view = [](const TensorList& in) { return TensorList{in[0].view({6}), in[0].sin()}; };
  const Tensor x = tracked(randn({2, 3}));
  const Metadata m = record_of(view, {x});
  EXPECT_EQ(to_text(m),
            "input 0: NOT_MUTATED is_leaf mutations_hidden_from_autograd requires_grad\n"
            "output 0: alias_of_input 0 requires_grad\n"
            "output 1: non_alias requires_grad\n"
            "num_intermediate_bases=0 keep_input_mutations=False is_train=True\n"
            "tangent 0: f32[2, 3]\n");
  EXPECT_TRUE(
      same_record(m, record_of([](const TensorList& in) { return TensorList{in[0].t().t().view({6}), in[0].cos()}; }, {x})))
      << "by whatever steps";
  EXPECT_FALSE(same_record(m, record_of(view, {x}, true))) << "keep_input_mutations";
  EXPECT_FALSE(same_record(m, record_of(view, {randn({2, 3})}))) << "requires_grad";
  EXPECT_FALSE(same_record(m, record_of(view, {tracked(randn({3, 2}))}))) << "the tangent's size";
  EXPECT_FALSE(same_record(m, record_of(view, {tracked(randn({2, 3}, {.dtype = float64}))}))) << "its type";
  EXPECT_FALSE(same_record(m, record_of([](const TensorList& in) { return TensorList{in[0].view({6}), in[0]}; }, {x})))
      << "kinds of outputs";
  EXPECT_FALSE(same_record(m, record_of([](const TensorList& in) { return TensorList{in[0].view({6})}; }, {x})))
      << "their number";
  const Metadata ready = runtime_record(m);
  EXPECT_TRUE(ready.tangents.empty());
  EXPECT_EQ(ready.outputs.size(), 2u);
  EXPECT_THROW(runtime_record(ready), InternalError) << "once only";
}

// R045: of tangents what a run needs is how they are made of plain tensors: the names of the inner
// ones, and their class's metadata.
TEST_F(AotEntry, R045_WhatIsLeftOfTangents) {
  using testing::metadata_tensor;
  using testing::two_tensor;
  ShapeEnv env;
  const GuardScope scope(env);
  const Values inputs = fake_inputs(
      {tracked(two_tensor(ones({2}), ones({2}))), tracked(metadata_tensor(ones({2}), 7)), tracked(ones({2}))}, {}, env);
  const FlatFunction f = [](const Values& in) { return Values{in[0].tensor() * 2, in[1].tensor() * 2, in[2].tensor() * 2}; };
  const Metadata m = collect_metadata(f, inputs, false, true);
  ASSERT_EQ(m.tangents.size(), 3u);
  const JointGraph joint = joint_graph(f, inputs, m, env, nullptr);
  const DenseLayout& tangents = joint.layouts.tangents;
  ASSERT_EQ(tangents.outer_size(), 3u);
  ASSERT_TRUE(tangents[0].cls && tangents[1].cls && !tangents[2].cls) << "none of a plain one";
  EXPECT_EQ(tangents[0].cls->inner_names(tangents[0].metadata), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(to_text(tangents[1].metadata), to_text(Value(testing::kDefaultAttribute))) << "of the result, not of the input";
  EXPECT_TRUE(runtime_record(m).tangents.empty());
}

// The fields of the reference's record, by where they are here.
TEST_F(AotEntry, R040_EveryFieldOfTheRecord) {
  const auto context = std::make_shared<TracingContext>();
  context->inlines_modules = true;
  std::vector<int> written_by_backward;
  int saved_integers = -1;
  AotOptions o;
  o.context = context;
  o.params_and_buffers = 1;
  o.dynamic = true;
  o.keep_inference_input_mutations = true;
  o.partition = [&](const Joint& j) {
    written_by_backward = j.written_by_backward;
    Parts p = partition_default(j);
    saved_integers = p.saved_integers;
    return p;
  };
  const auto writes_later = [](const Tensor& t, const Tensor& count) {  // its backward counts itself
    return custom_function(
        "Counted", {t}, [](FunctionContext&, const TensorList& in) { return TensorList{in[0] * 2}; },
        [count](FunctionContext&, const TensorList& g) {
          Tensor(count).add_(1);
          return TensorList{g[0] * 2};
        })[0];
  };
  const auto f = [&](const TensorList& in) {
    Tensor(in[2]).add_(1);
    const Tensor y = in[0] * in[1] + in[2];
    return TensorList{y.view({-1}), y.t(), writes_later(in[1], in[3]), in[4].sum()};
  };
  const TensorList inputs{tracked(ones({2, 3})), tracked(ones({2, 3})), ones({2, 3}), zeros({}), tracked(ones({4}))};
  aot_function(TensorFunction(f), o)(inputs);
  ASSERT_TRUE(context->metadata);
  const Metadata& m = *context->metadata;
  EXPECT_EQ(m.inputs.size(), 5u);
  EXPECT_EQ(m.outputs.size(), 4u);
  EXPECT_EQ(m.intermediate_bases, 1);
  EXPECT_TRUE(m.keep_mutations && m.is_train && !m.has_wrappers);
  EXPECT_EQ(m.tangents.size(), 3u) << "the base, and the two outputs that are none";
  EXPECT_FALSE(m.grad_mode) << "as it was";
  EXPECT_EQ(m.static_parameters, std::vector<int>{0});
  EXPECT_EQ(m.tokens, 0) << "there are no ordered effects";
  EXPECT_EQ(written_by_backward, std::vector<int>{3});
  EXPECT_GT(saved_integers, 0) << "the sum's gradient needs the size alone";

  // Wrappers: inputs, what the forward returns and tangents, each as it is made of plain tensors.
  ShapeEnv env;
  const GuardScope scope(env);
  const Values given = fake_inputs({tracked(testing::two_tensor(ones({2}), ones({2}))), ones({2})}, {}, env);
  const FlatFunction g = [](const Values& in) { return Values{in[0].tensor() * in[1].tensor(), in[1].tensor() + 1}; };
  const JointGraph joint = joint_graph(g, given, collect_metadata(g, given, false, true), env, nullptr);
  const JointLayouts& l = joint.layouts;
  EXPECT_EQ(text(l.inputs.dense_size(), l.returned.dense_size(), l.tangents.dense_size()), "332");
  EXPECT_TRUE(l.inputs[0].cls && !l.inputs[1].cls && l.returned[0].cls && !l.returned[1].cls && l.tangents[0].cls);
}

TEST_F(AotEntry, R043_R070_SavedTensorsComeBeforeSavedSizes) {
  std::string forward, backward;
  const auto f = [](const TensorList& in) {
    const Tensor first = in[0].sum();  // whose gradient needs the size alone
    return TensorList{first + in[1].sin().sum()};
  };
  aot_function(f, {.forward = capture(forward), .backward = capture(backward), .dynamic = true})(
      TensorList{tracked(randn({5})), tracked(randn({7}))})[0]
      .backward();
  EXPECT_EQ(forward, R"(def forward(self, primals_1, primals_2):
    sum_1 = torch.ops.aten.sum.default(primals_1)
    sin = torch.ops.aten.sin.default(primals_2)
    sum_2 = torch.ops.aten.sum.default(sin);  sin = None
    add = torch.ops.aten.add.Tensor(sum_1, sum_2);  sum_1 = sum_2 = None
    sym_size_int_1 = torch.ops.aten.sym_size.int(primals_1, 0);  primals_1 = None
    return [add, primals_2, sym_size_int_1]
)");
  EXPECT_TRUE(backward.starts_with("def forward(self, sym_size_int_1, primals_2, tangents_1):")) << backward;
}

TEST_F(AotEntry, R047_R064_RepeatsAreTakenAwayFirstAndGradientsLookedAtAfterwards) {
  const TensorFunction f = [](const TensorList& in) {
    aten_value<"t_">(in[0]);
    return TensorList{in[0] + in[1] + in[2]};
  };
  const auto square = [] { return tracked(randn({2, 2})).clone(); };
  const Tensor x = square(), z = randn({2, 2}), rg = tracked(randn({2, 2}));
  const AotFunction g = aot_function(f, {.debug_assert = true});
  g(TensorList{x, x, z});
  const auto message = [&](const Tensor& a, const Tensor& b, const Tensor& c) {
    return error_of([&] { g(TensorList{a, b, c}); });
  };
  EXPECT_NE(message(square(), square(), rg).find("input 1 would be a duplicate of input 0"), std::string::npos)
      << "both are wrong, and dedupe is the outer one";
  const Tensor y = square();
  EXPECT_NE(message(y, y, rg).find("input 1 would not require grad"), std::string::npos)
      << "arguments are counted without the repeat";
}

TEST_F(AotEntry, R080_R092_ARecordThatIsAnotherOneWithoutRepeatsIsAnError) {
  int calls = 0;
  const auto fickle = [&](const TensorList& in) {  // returns the input from its second run on
    Tensor(in[0]).mul_(2);
    return TensorList{calls++ == 0 ? in[0] + 1 : in[0]};
  };
  const Tensor x = ones({2}), base = ones({4});
  const auto message = [&](const TensorList& in, bool debug) {
    calls = 0;
    return error_of([&] { aot_function(fickle, {.debug_assert = debug})(in); });
  };
  EXPECT_TRUE(
      message({x, x}, true)
          .starts_with(
              "the function does something else where repeated arguments are left out. Expected:\ninput 0: MUTATED_OUT_GRAPH"));
  const auto steady = [](const TensorList& in) { return TensorList{Tensor(in[0]).mul_(2) + in[1]}; };
  EXPECT_EQ(error_of([&] { aot_function(steady, {.debug_assert = true})(TensorList{x, x}); }), "no error");
  EXPECT_EQ(error_of([&] { aot_function(steady, {.debug_assert = true})(TensorList{base.slice(0, 0, 3), base.slice(0, 1, 4)}); }),
            "no error");
}

TEST_F(AotEntry, R065_AWrapperThatChangedNothingReturnsTheFunctionItself) {
  ShapeEnv env;
  const GuardScope scope(env);
  const Values arguments{randn({2}), randn({2})};
  Prepared p{
      [](const Values& v) { return Values{v[0].tensor() + v[1].tensor()}; }, arguments, fake_inputs(arguments, {}, env), {}};
  p.collect_again();
  struct Marked {
    Values operator()(const Values& v) const { return v; }
  };
  const Dedupe dedupe(p, 0, 0);
  const SyntheticBase bases(p, [&](const Values& v) { return fake_inputs(v, {}, env); });
  EXPECT_NE(dedupe.around(Marked()).target<Marked>(), nullptr);
  EXPECT_NE(bases.around(Marked()).target<Marked>(), nullptr);
}

TEST_F(AotEntry, R068_R069_WhatThePartitionerIsTold) {
  int outputs = 0;
  bool grad_mode = true;
  const Partitioner see = [&](const Joint& j) {
    outputs = j.forward_outputs;
    grad_mode = is_grad_enabled();
    return partition_default(j);
  };
  const Tensor x = tracked(randn({2, 3})) * 1;
  aot_function(
      [](const TensorList& in) {
        Tensor(in[0]).mul_(2);
        const Tensor y = in[0] * 3;
        return TensorList{y.view({6}), y.t(), in[0] + 1};
      },
      {.partition = see})(TensorList{x});
  EXPECT_EQ(outputs, 1 + 3 + 1) << "the written input, the outputs, their base";
  EXPECT_FALSE(grad_mode);
}

TEST_F(AotEntry, R130_R134_R155_WhatACompilerReturns) {
  const Compiler plain = [](std::shared_ptr<const Graph> g, const Values& examples) -> Boxed {
    return [run = nop(std::move(g), examples)](const Values& arguments) {  // it does not take the list over
      Values own = arguments;
      return run(own);
    };
  };
  const Compiler short_of_one = [](std::shared_ptr<const Graph>, const Values&) -> Boxed {
    return [](const Values&) { return Values{}; };
  };
  const TensorFunction f = [](const TensorList& in) { return TensorList{in[0] * 2}; };
  EXPECT_EQ(values(aot_function(f, {.forward = plain})(TensorList{ones({2})})[0]), (std::vector<double>{2, 2}));
  EXPECT_TRUE(error_of([&] {
                aot_function(f, {.forward = short_of_one})(TensorList{ones({2})});
              }).starts_with("a compiled graph should return 1 values, found 0"));
}

// R155: so are inputs that are written back and bases of views, with debug_assert as without. A
// base is a tensor of the graph.
TEST_F(AotEntry, R155_WrittenInputsAndBasesAreCounted) {
  const TensorFunction f = [](const TensorList& in) {
    Tensor(in[0]).mul_(2);
    const Tensor y = in[0] * 3;
    return TensorList{y.view({-1}), y.t()};
  };
  const auto lacks = [](std::size_t count) -> Compiler {
    return [count](std::shared_ptr<const Graph> g, const Values& examples) -> Boxed {
      return [run = nop(std::move(g), examples), count](Values& arguments) {
        Values all = run(arguments);
        all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
        return all;
      };
    };
  };
  for (const bool debug : {false, true}) {
    const auto message = [&](std::size_t count, bool rg) {
      return error_of([&] {
        const Tensor x = rg ? tracked(ones({2, 2})) * 1 : ones({2, 2});
        aot_function(f, {.forward = lacks(count), .debug_assert = debug})(TensorList{x});
      });
    };
    EXPECT_EQ(message(0, false), "no error");
    EXPECT_EQ(message(0, true), "no error");
    EXPECT_TRUE(message(1, false).starts_with("a compiled graph should return 3 values, found 2")) << message(1, false);
    EXPECT_NE(message(1, true), "no error") << "the written input, two outputs, their base";
  }
}

TEST_F(AotEntry, R135_R136_WritesInOrderThenOutputsOfTheWrittenInputs) {
  const TensorFunction f = [](const TensorList& in) {
    aten_value<"t_">(in[0]);  // how it looks
    Tensor(in[1]).mul_(2);  // its elements
    Tensor(in[2]).add_(1);  // both
    aten_value<"unsqueeze_">(in[2], 0);
    const Tensor y = in[1] * 3;
    return TensorList{in[1], in[1].view({6}), in[2], y, y.view({6})};
  };
  const auto inputs = [] { return TensorList{ones({2, 3}), ones({2, 3}), ones({2, 3})}; };
  const TensorList a = inputs(), b = inputs(), want = f(a), found = aot_function(f)(b);
  for (std::size_t k = 0; k < a.size(); k++) {
    EXPECT_EQ(b[k].sizes(), a[k].sizes());
    EXPECT_EQ(b[k].strides(), a[k].strides());
    EXPECT_EQ(values(b[k]), values(a[k]));
  }
  for (std::size_t k = 0; k < want.size(); k++) EXPECT_EQ(values(found[k]), values(want[k])) << "output " << k;
  EXPECT_TRUE(found[0].is_same(b[1]) && found[2].is_same(b[2])) << "inputs themselves";
  EXPECT_EQ(found[1]->storage, b[1]->storage) << "a view of the input";
  EXPECT_EQ(found.size(), 5u) << "no bases";
}

}  // namespace
}  // namespace ingot::aot
