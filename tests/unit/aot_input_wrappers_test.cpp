// What is done to the arguments of a function before it becomes a graph, and undone around it:
// order, repeats, overlaps (R047, R064,
// R075, R076, R078, R089, R091, R092).
#include "aot/dedupe.hpp"
#include "aot/metadata_record.hpp"
#include "aot/synthetic_base.hpp"
#include "support/aot_harness.hpp"
#include "support/tracked.hpp"

namespace ingot::aot {
namespace {

class AotInputWrappers : public AotHarness {
 protected:
  ShapeEnv env_;
  const std::function<Values(const Values&)> fake_ = [this](const Values& v) { return fake_inputs(v, {}, env_); };

  Prepared prepared(const TensorFunction& f, const TensorList& arguments) {
    const Values given(arguments.begin(), arguments.end());
    Prepared p{[f](const Values& in) {
                 TensorList l;
                 for (const Value& v : in) l.push_back(v.tensor());
                 const TensorList out = f(l);
                 return Values(out.begin(), out.end());
               },
               given,
               fake_(given),
               {}};
    const GuardScope scope(env_);
    p.meta = collect_metadata(p.f, p.fakes, false, true);
    return p;
  }
};

std::vector<double> values(const Tensor& t) { return detached(t).to_vector<double>(); }
std::string broken(int id, const std::string& assumption) {
  return text(
      "At compilation time, graph ", id, " was compiled under the assumption that ", assumption,
      ", but at runtime this was not the case.  This indicates a guard bug in AOTAutograd or Dynamo, please file a bug to PyTorch.");
}

// ---- order

// Of four arguments two are one tensor and two overlap: the graph has one input for each pair, and
// a call that breaks both assumptions hears of the outer one.
TEST_F(AotInputWrappers, R047_R064_RepeatsThenOverlapsThenGradients) {
  std::string joint;
  const TensorFunction f = [](const TensorList& in) {
    Tensor(in[0]).mul_(2);
    Tensor(in[2]).add_(1);
    return TensorList{in[0] + in[1] + in[2] + in[3] + in[4] * in[5]};
  };
  const AotFunction g = aot_function(f, {.partition =
                                             [&](const Joint& j) {
                                               joint = print(j.graph);
                                               return partition_default(j);
                                             },
                                         .debug_assert = true});
  const auto halves = [](const Tensor& memory) { return TensorList{memory.slice(0, 0, 2), memory.slice(0, 1, 3)}; };
  const auto arguments = [&](const Tensor& first, const Tensor& second, const TensorList& over, const Tensor& plain) {
    return TensorList{first, second, over[0], over[1], tracked(ones({2})), plain};
  };
  const Tensor x = ones({2}), y = ones({2});
  const TensorList shared = halves(ones({4})), apart{ones({2}), ones({2})};
  const Tensor leaf = tracked(ones({2}));
  g(arguments(x, x, shared, y));
  EXPECT_TRUE(joint.starts_with("def forward(self, primals_1, primals_2, primals_3, primals_4, tangents_1):\n")) << joint;
  EXPECT_NE(joint.find("as_strided.default(primals_1, [2], [1], 0)"), std::string::npos) << "the base is first\n" << joint;
  EXPECT_EQ(joint.find("mul_"), joint.find("mul_1")) << "writes are values\n" << joint;

  EXPECT_EQ(error_of([&] { g(arguments(x, y, apart, leaf)); }), broken(g.id(), "input 1 would be a duplicate of input 0"));
  EXPECT_NE(error_of([&] { g(arguments(x, x, apart, leaf)); }).find("that share memory, and now they do not"), std::string::npos);
  EXPECT_EQ(error_of([&] { g(arguments(x, x, shared, leaf)); }), broken(g.id(), "input 3 would not require grad"))
      << "counted without the repeat and with one base for two";
}

// Autograd sees wrapper tensors, and the graph what they are made of.
TEST_F(AotInputWrappers, R047_GradientsAboveFunctionalTensorsAboveWrappers) {
  std::string forward;
  const TensorFunction f = [](const TensorList& in) {
    const Tensor y = in[0] * 2;
    Tensor(y.select(0, 0)).mul_(in[0].select(0, 1));
    return TensorList{y};
  };
  const auto gradient = [&](const TensorFunction& g) {
    const Tensor x = tracked(testing::two_tensor(ones({2, 2}), ones({2, 2}) * 3));
    g({x})[0].sum().backward();
    EXPECT_TRUE(testing::is_two_tensor(x.grad()));
    return TensorList{testing::a(x.grad()), testing::b(x.grad())};
  };
  const AotFunction compiled = aot_function(f, {.forward = capture(forward), .backward = nop});
  const TensorList want = gradient(f), found = gradient([&](const TensorList& in) { return compiled(in); });
  for (std::size_t k = 0; k < 2; k++) EXPECT_EQ(values(found[k]), values(want[k]));
  EXPECT_NE(forward.find("select_scatter"), std::string::npos) << forward;
  EXPECT_TRUE(forward.starts_with("def forward(self, primals_1, primals_2):\n")) << forward;
}

// ---- repeats

TEST_F(AotInputWrappers, R075_RepeatsThatNobodyWritesAreTensorsOfTheirOwn) {
  const TensorFunction f = [](const TensorList& in) { return TensorList{in[0] * in[1] + in[2]}; };
  const Tensor x = tracked(ones({2})), y = ones({2});
  Prepared p = prepared(f, {x, x, y});
  const Dedupe dedupe(p, 0, 0);
  EXPECT_FALSE(dedupe.drops());
  EXPECT_TRUE(dedupe.places().empty());
  ASSERT_EQ(p.fakes.size(), 3u);
  const Tensor first = p.fakes[0].tensor(), second = p.fakes[1].tensor();
  EXPECT_FALSE(first.is_same(second));
  EXPECT_TRUE(is_leaf(second) && second.requires_grad() && !p.fakes[2].tensor().requires_grad());
  struct Marked {
    Values operator()(const Values& v) const { return v; }
  };
  EXPECT_NE(dedupe.around(Marked()).target<Marked>(), nullptr) << "nothing runs around it";
  // So what was compiled for one pattern of repeats is right for every other.
  const AotFunction g = aot_function(f);
  const auto expect_eager = [&](const Tensor& a, const Tensor& b, const Tensor& c) {
    EXPECT_EQ(values(g(TensorList{a, b, c})[0]), values(f({a, b, c})[0]));
    const TensorList want = grad({f({a, b, c})[0].sum()}, {a, b}), found = grad({g(TensorList{a, b, c})[0].sum()}, {a, b});
    for (std::size_t k = 0; k < 2; k++) EXPECT_EQ(values(found[k]), values(want[k]));
  };
  const Tensor z = tracked(full({2}, 5.0)), other = full({2}, 7.0);
  expect_eager(x, x, y);
  expect_eager(x, z, y);
  expect_eager(z, z, other);
  expect_eager(z, x, other);
}

TEST_F(AotInputWrappers, R076_RepeatsOfWhatIsWrittenAreLeftOut) {
  const TensorFunction f = [](const TensorList& in) {
    Tensor(in[0]).mul_(2);
    return TensorList{in[2], in[3].view({-1}), in[0] + in[1]};
  };
  const Tensor a = tracked(ones({2})) * 1, b = tracked(ones({2})), c = ones({2});
  Prepared p = prepared(f, {a, b, a, c});
  const Metadata given = p.meta;
  ASSERT_EQ(given.tangents.size(), 3u) << "of each place where the written tensor is, and of the sum";
  const Dedupe dedupe(p, 0, 0);
  EXPECT_TRUE(dedupe.drops());
  EXPECT_EQ(dedupe.places(), (std::vector<std::size_t>{0, 1, 0, 2}));
  EXPECT_EQ(p.fakes.size(), 3u);
  EXPECT_EQ(p.arguments.size(), 3u);
  const std::optional<Metadata> mapped = dedupe.expected_record(given);
  ASSERT_TRUE(mapped);
  EXPECT_EQ(mapped->inputs.size(), 3u);
  EXPECT_EQ(mapped->tangents.size(), 2u) << "the dropped one's is gone";
  EXPECT_EQ(given.outputs[0].base, 2);
  EXPECT_EQ(mapped->outputs[0].base, 0);
  EXPECT_EQ(given.outputs[1].base, 3);
  EXPECT_EQ(mapped->outputs[1].base, 2);
  EXPECT_TRUE(same_record(*mapped, p.meta)) << to_text(*mapped) << to_text(p.meta);
}

TEST_F(AotInputWrappers, R078_EveryCallMustRepeatAsTheFirstDid) {
  struct Net : nn::Module {
    Tensor p;
    Net() { add_parameter("p", p, ones({2})); }
  } net;
  const TreeFunction f = [&](const Tree& a) {
    const NoGrad no_grad;
    Tensor(a[0].leaf().tensor()).add_(1);
    return Tree::tuple({a[0].leaf().tensor() + a[1].leaf().tensor() + net.p});
  };
  const Tensor x = ones({2}), y = ones({2});
  const FlatCallable g = aot_module_simplified(net, f, {x, x}, {.guards = false});  // which would say it first
  const int id = aot_function(TensorFunction([](const TensorList& in) { return in; })).id() - 1;
  EXPECT_EQ(values(g({y, y})[0].tensor()), (std::vector<double>{5, 5}));
  EXPECT_EQ(error_of([&] { g({x, y}); }), broken(id, "input 1 would be a duplicate of input 0"));
  // A parameter is called so.
  const Dedupe state({0, 1, 0, 1}, 1, 9);
  const FlatCallable checked = state.around([](Values v) { return v; });
  EXPECT_EQ(error_of([&] { checked({x, y, y, y}); }), broken(9, "input 1 would be a duplicate of parameter/buffer 0"));
  EXPECT_EQ(error_of([&] { checked({x, y, x, x}); }), broken(9, "input 2 would be a duplicate of input 0"));
  EXPECT_EQ(checked({x, y, x, y}).size(), 2u);
  // The list is empty before the inner call: nobody but the callee has the arguments.
  const FlatCallable alone = state.around([](Values v) {
    const int64_t before = Storage::live_bytes();
    v.clear();
    return Values{before - Storage::live_bytes()};
  });
  const auto fresh = [] {
    const Tensor t = ones({4}), u = ones({4});
    return Values{t, u, t, u};
  };
  EXPECT_EQ(alone(fresh())[0].to_int64(), 2 * 4 * 4);
}

// ---- overlaps

TEST_F(AotInputWrappers, R089_TheRecordOfABase) {
  const TensorFunction f = [](const TensorList& in) {
    Tensor(in[2]).add_(in[0]);
    aten_value<"unsqueeze_">(in[3], 0);
    return TensorList{in[2], in[3].view({-1}), in[1], in[0] * 2};
  };
  const Tensor leaf = tracked(ones({4})), memory = leaf * 1;
  Prepared p = prepared(f, {tracked(ones({2})), ones({2}), memory.slice(0, 0, 2), memory.slice(0, 1, 3)});
  const Metadata before = p.meta;
  EXPECT_EQ(before.outputs[0].kind, OutputKind::is_input);
  const SyntheticBase bases(p, fake_);
  ASSERT_TRUE(bases.changes_arguments());
  EXPECT_EQ(to_text(p.meta),
            "input 0: MUTATED_OUT_GRAPH mutates_data requires_grad\n"
            "input 1: NOT_MUTATED is_leaf mutations_hidden_from_autograd requires_grad\n"
            "input 2: NOT_MUTATED is_leaf mutations_hidden_from_autograd\n"
            "output 0: alias_of_input 0 requires_grad\n"
            "output 1: alias_of_input 0 requires_grad\n"
            "output 2: is_input 2\n"
            "output 3: non_alias requires_grad\n"
            "output 4: alias_of_input 0 requires_grad\n"
            "num_intermediate_bases=0 keep_input_mutations=False is_train=True\n"
            "tangent 0: f32[4]\n"
            "tangent 1: f32[2]\n");
  const std::optional<Metadata> expected = bases.expected_record(before, p);
  ASSERT_TRUE(expected);
  EXPECT_EQ(to_text(*expected), to_text(p.meta));
  EXPECT_TRUE(same_record(*expected, p.meta));
}

// PyTorch stops at a group of a leaf and of what is none; here it is compiled.
TEST_F(AotInputWrappers, R089_ALeafAndAViewOfIt) {
  const TensorFunction f = [](const TensorList& in) {
    {
      const NoGrad no_grad;
      Tensor(in[0]).mul_(2);
    }
    return TensorList{in[1] * 2};
  };
  std::vector<std::vector<double>> seen[2];
  for (const bool compile : {false, true}) {
    const Tensor x = tracked(ones({4})), y = x.view({2, 2});
    const Tensor out = compile ? aot_function(f, {.debug_assert = true})(TensorList{x, y})[0] : f({x, y})[0];
    out.sum().backward();
    seen[compile] = {values(out), values(x), values(x.grad())};
  }
  EXPECT_EQ(seen[1], seen[0]);
}

TEST_F(AotInputWrappers, R092_ARecordThatIsAnotherOneWithBasesIsAnError) {
  int calls = 0;
  const auto fickle = [&](const TensorList& in) {  // returns the input from its second run on
    Tensor(in[0]).mul_(2);
    return TensorList{calls++ == 0 ? in[0] + 1 : in[0]};
  };
  const auto message = [&](const TensorFunction& f, bool debug) {
    calls = 0;
    const Tensor base = ones({4});
    return error_of([&] { aot_function(f, {.debug_assert = debug})(TensorList{base.slice(0, 0, 3), base.slice(0, 1, 4)}); });
  };
  EXPECT_TRUE(
      message(fickle, true)
          .starts_with(
              "the function does something else where arguments that overlap are one. Expected:\ninput 0: MUTATED_OUT_GRAPH"))
      << message(fickle, true);
  EXPECT_EQ(message([](const TensorList& in) { return TensorList{Tensor(in[0]).mul_(2) + in[1]}; }, true), "no error");
  EXPECT_EQ(message([](const TensorList& in) { return TensorList{Tensor(in[1]).mul_(2), in[0].view({-1}), in[1] + 1}; }, true),
            "no error");
}

// What is called has the only references: to the bases, and to what is none of them.
TEST_F(AotInputWrappers, R091_NobodyElseHoldsTheArguments) {
  const TensorFunction f = [](const TensorList& in) {
    Tensor(in[0]).add_(1);
    return TensorList{in[0] + in[1] + in[2].sum()};
  };
  const auto given = [] {
    const Tensor memory = ones({4});
    return Values{memory.slice(0, 0, 2), memory.slice(0, 1, 3), ones({8})};
  };
  const Values first = given();
  Prepared p = prepared(f, {first[0].tensor(), first[1].tensor(), first[2].tensor()});
  const SyntheticBase bases(p, fake_);
  ASSERT_TRUE(bases.changes_arguments());
  const FlatCallable alone = bases.around([](Values v) {
    EXPECT_EQ(v.size(), 2u);
    const int64_t before = Storage::live_bytes();
    v.clear();
    return Values{before - Storage::live_bytes()};
  });
  EXPECT_EQ(alone(given())[0].to_int64(), (4 + 8) * 4);
}

TEST_F(AotInputWrappers, R091_LooksAreTheUsersAndTheirOutputsAreNotReturned) {
  const TensorFunction f = [](const TensorList& in) {
    Tensor(in[0]).add_(1);
    aten_value<"unsqueeze_">(in[1], 0);
    return TensorList{in[0] + in[1]};
  };
  const AotFunction g = aot_function(f);
  for (int call = 0; call < 2; call++) {
    const Tensor a = ones({4}), b = ones({4});
    const TensorList eager{a.slice(0, 0, 2), a.slice(0, 1, 3)}, given{b.slice(0, 0, 2), b.slice(0, 1, 3)};
    const TensorList want = f(eager), found = g(given);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(values(found[0]), values(want[0]));
    EXPECT_EQ(values(b), values(a));
    EXPECT_EQ(given[1].sizes(), (Shape{1, 2}));
    EXPECT_EQ(given[1].strides(), eager[1].strides());
    EXPECT_EQ(given[1].storage_offset(), eager[1].storage_offset());
  }
}

}  // namespace
}  // namespace ingot::aot
