// What happens in which order when a function is compiled, and what goes into the compiled graphs
// (R067, R068, R100, R103, R106, R145).
#include "aot/context.hpp"
#include "aot/inputs.hpp"
#include "aot/tracing_context.hpp"
#include "graph/interpret.hpp"
#include "graph/text.hpp"
#include "ingot/state.hpp"
#include "op/source_note.hpp"
#include "support/aot_harness.hpp"
#include "support/tracked.hpp"

namespace ingot::aot {
namespace {

class AotSteps : public AotHarness {
 protected:
  std::vector<std::string> events;

  // A compiler that notes where it is called, and when what it made runs.
  Compiler noting(const std::string& name, const std::shared_ptr<TracingContext>& context) {
    return [this, name, context](std::shared_ptr<const Graph> g, const Values& examples) -> Boxed {
      events.push_back(text("compile ", name, " in ", compile_context().names.empty() ? "" : compile_context().names[0],
                            " grad=", is_grad_enabled(), " autocast=", autocast_state().enabled,
                            " record=", context->metadata.has_value(), " inputs=", examples.size()));
      for (const Value& v : examples) EXPECT_TRUE(!v.is_tensor() || v.tensor()->is_fake());
      return [this, name, run = nop(std::move(g), examples)](Values& arguments) {
        events.push_back(text("run ", name, " grad=", is_grad_enabled(), " autocast=", autocast_state().enabled));
        return run(arguments);
      };
    };
  }
  AotOptions options() {
    AotOptions o;
    o.context = std::make_shared<TracingContext>();
    o.forward = noting("forward", o.context);
    o.backward = noting("backward", o.context);
    o.inference = noting("inference", o.context);
    o.partition = [this](const Joint& j) {
      events.push_back(
          text("partition in ", compile_context().names[0], " grad=", is_grad_enabled(), " outputs=", j.forward_outputs));
      return partition_default(j);
    };
    return o;
  }
};

std::vector<double> numbers_of(const Tensor& t) { return detached(t).to_vector<double>(); }

TEST_F(AotSteps, R067_WithoutGradients) {
  number_from(3);
  const AotFunction f =
      aot_function(TensorFunction([](const TensorList& in) { return TensorList{in[0].matmul(in[0])}; }), options());
  EXPECT_TRUE(events.empty()) << "nothing happens before the first call";
  {
    const AutocastGuard on;
    f(TensorList{ones({2, 2})});
    f(TensorList{ones({2, 2})});
  }
  EXPECT_EQ(events,
            (std::vector<std::string>{"compile inference in 3_inference grad=True autocast=False record=True inputs=1",
                                      "run inference grad=False autocast=False", "run inference grad=False autocast=False"}));
  EXPECT_TRUE(compile_context().names.empty());
}

TEST_F(AotSteps, R067_TheForwardsCompilerWhereInferenceHasNone) {
  AotOptions o = options();
  o.inference = {};
  aot_function(TensorFunction([](const TensorList& in) { return TensorList{in[0] * 2}; }), o)(TensorList{ones({2})});
  ASSERT_EQ(events.size(), 2u);
  EXPECT_TRUE(events[0].starts_with("compile forward in ") && events[0].find("_inference ") != std::string::npos) << events[0];
}

TEST_F(AotSteps, R068_WithGradients) {
  number_from(5);
  const AotFunction f = aot_function(TensorFunction([](const TensorList& in) {
                                       Tensor(in[1]).mul_(2);
                                       return TensorList{in[0].matmul(in[1])};
                                     }),
                                     options());
  const Tensor x = tracked(ones({2, 2})), y = ones({2, 2});
  Tensor out;
  {
    const AutocastGuard on;
    out = f(TensorList{x, y})[0];
  }
  EXPECT_EQ(events, (std::vector<std::string>{"partition in 5_joint grad=False outputs=2",
                                              "compile forward in 5_forward grad=False autocast=False record=True inputs=2",
                                              "run forward grad=False autocast=False"}));
  events.clear();
  const AutocastGuard on;
  out.sum().backward();
  EXPECT_EQ(events, (std::vector<std::string>{"compile backward in 5_backward grad=False autocast=False record=True inputs=2",
                                              "run backward grad=False autocast=False"}));
  EXPECT_EQ(numbers_of(x.grad()), std::vector<double>(4, 4));
}

// Compilers are told what the two graphs hand over, beside what they compute.
TEST_F(AotSteps, R068_ThePairSaysWhatItKeepsAndReturns) {
  std::map<GraphKind, std::shared_ptr<const Graph>> graphs;
  const auto keeping = [&](GraphKind kind) -> Compiler {
    return [&graphs, kind](std::shared_ptr<const Graph> g, const Values& examples) {
      graphs[kind] = g;
      return nop(std::move(g), examples);
    };
  };
  const AotFunction f = aot_function(TensorFunction([](const TensorList& in) { return TensorList{in[0].matmul(in[1]).sin()}; }),
                                     {.forward = keeping(GraphKind::forward), .backward = keeping(GraphKind::backward)});
  f(TensorList{tracked(ones({2, 2})), ones({2, 2})})[0].sum().backward();
  ASSERT_EQ(graphs.size(), 2u);
  const Graph &forward = *graphs[GraphKind::forward], &backward = *graphs[GraphKind::backward];
  for (const Node* n : forward.inputs()) EXPECT_EQ(n->role, Role::value) << n->name;
  EXPECT_EQ(forward.outputs[0].node()->role, Role::value);
  EXPECT_TRUE(std::ranges::any_of(forward.outputs, [](const Argument& a) { return a.node()->role == Role::saved; }))
      << print(forward, GraphForm::full);
  ASSERT_EQ(backward.inputs().size(), forward.outputs.size());  // instead of the result its tangent
  for (std::size_t k = 0; k < backward.inputs().size(); k++)
    EXPECT_EQ(backward.inputs()[k]->role, k + 1 < backward.inputs().size() ? Role::saved : Role::tangent) << k;
  EXPECT_EQ(backward.outputs[0].node()->role, Role::gradient);
  EXPECT_TRUE(backward.outputs[1].is_none());
}

// Saved sizes make the backward's turn come at once, in the same place.
TEST_F(AotSteps, R068_ABackwardThatIsNotLazy) {
  number_from(0);
  AotOptions o = options();
  o.dynamic = true;
  const AotFunction f = aot_function(TensorFunction([](const TensorList& in) { return TensorList{in[0].sum()}; }), o);
  f(TensorList{tracked(ones({3}))});
  ASSERT_EQ(events.size(), 4u);
  EXPECT_TRUE(events[0].starts_with("partition in 0_joint")) << events[0];
  EXPECT_TRUE(events[1].starts_with("compile forward in 0_forward")) << events[1];
  EXPECT_TRUE(events[2].starts_with("compile backward in 0_backward")) << events[2];
  EXPECT_TRUE(events[3].starts_with("run forward")) << events[3];
}

// A function that has a base when it is looked at, and none when it is traced.
TEST_F(AotSteps, R100_TheBasesOfTheTraceAreThoseOfTheRecord) {
  int calls = 0;
  const TensorFunction fickle = [&](const TensorList& in) {
    const Tensor base = in[0] * 3;
    return calls++ == 0 ? TensorList{base.view({-1}), base.t()} : TensorList{in[0] * 2, in[0] * 5};
  };
  EXPECT_EQ(
      error_of([&] { aot_function(fickle)(TensorList{tracked(ones({2, 2}))}); }),
      "the function has 0 intermediate bases while it is traced, and had 1 before. Does it depend on anything but its arguments?");
}

// ---- the backward

TensorList with_backward(const TensorList& in, const std::function<void(const Tensor& saved)>& act) {
  return custom_function(
      "Acts", in,
      [](FunctionContext& c, const TensorList& given) {
        c.save({given[1]});
        return TensorList{given[0].clone()};
      },
      [act](FunctionContext& c, const TensorList& g) {
        act(c.saved()[0]);
        return TensorList{g[0].clone(), Tensor()};
      });
}

TEST_F(AotSteps, R103_LooksAndStoragesDoNotChangeInTheBackward) {
  const auto message = [](const std::function<void(const Tensor&)>& act, const TensorFunction& before) {
    return error_of([&] {
      aot_function(TensorFunction([&](const TensorList& in) { return with_backward(before(in), act); }))(
          TensorList{tracked(ones({2, 3})), ones({2, 3})});
    });
  };
  const TensorFunction nothing = [](const TensorList& in) { return in; };
  EXPECT_TRUE(message([](const Tensor& t) { aten_value<"t_">(t); }, nothing)
                  .starts_with("Found a graph input that had its metadata mutated in the backward. This is not supported"));
  EXPECT_TRUE(message([](const Tensor& t) { aten_value<"inductor::resize_storage_bytes_">(t, 0); }, nothing)
                  .starts_with("Found a graph input that had storage resizing in the backward. This is not supported"));
}

TEST_F(AotSteps, R103_ATangentIsNotWritten) {
  const TensorFunction f = [](const TensorList& in) {
    return custom_function(
        "Writes", {in[0] * 2}, [](FunctionContext&, const TensorList& given) { return TensorList{given[0].clone()}; },
        [](FunctionContext&, const TensorList& g) {
          Tensor(g[0]).mul_(2);
          return TensorList{g[0].clone()};
        });
  };
  EXPECT_TRUE(error_of([&] {
                aot_function(f)(TensorList{tracked(ones({3}))});
              }).starts_with("Found an input to the backward that was mutated during the backward pass. This is not supported"));
}

// (c): the copy is recorded, once, for the input that was written, and looks that the forward
// changed are no news.
TEST_F(AotSteps, R103_ElementsAreCopiedAndWhatTheForwardDidIsNoNews) {
  std::string joint;
  AotOptions o;
  o.partition = [&](const Joint& j) {
    joint = print(j.graph);
    EXPECT_EQ(j.written_by_backward, std::vector<int>{1});
    return partition_default(j);
  };
  const Tensor x = tracked(ones({3})), y = full({3}, 5.0);
  aot_function(TensorFunction([](const TensorList& in) {
                 return with_backward({in[0], in[1]}, [](const Tensor& t) { Tensor(t).mul_(2); });
               }),
               o)(TensorList{x, y})[0]
      .sum()
      .backward();
  EXPECT_EQ(numbers_of(y), std::vector<double>(3, 10));
  EXPECT_NE(joint.find("copy_.default(primals_2"), std::string::npos) << joint;
  EXPECT_EQ(joint.find("copy_.default("), joint.rfind("copy_.default(")) << joint;
  const TensorFunction turned = [](const TensorList& in) {
    aten_value<"t_">(in[1]);
    return with_backward({in[0], in[1]}, [](const Tensor&) {});
  };
  EXPECT_EQ(error_of([&] { aot_function(turned)(TensorList{tracked(ones({2, 2})), ones({2, 2})}); }), "no error");
}

// Nodes of the backward belong to the forward's, and sums of gradients say so.
TEST_F(AotSteps, R106_GradientsStandWhereTheirForwardDoes) {
  const auto note = [](const std::string& code) {
    return make_ref<SourceNote>("  File \"net.py\", line 1\n    " + code + "\n", "net");
  };
  const TensorFunction f = [&](const TensorList& in) {
    Tensor a, b;
    {
      const SourceScope at(note("a = sin(x)"));
      a = in[0].sin();
    }
    {
      const SourceScope at(note("b = cos(x)"));
      b = in[0].cos();
    }
    const SourceScope at(note("y = a * b"));
    return TensorList{a * b};
  };
  std::vector<std::string> found;
  const Compiler see = [&](std::shared_ptr<const Graph> g, const Values& examples) {
    for (const auto& n : g->nodes())
      if (n->kind == NodeKind::call) found.push_back(n->name + ": " + n->stack_trace);
    return nop(std::move(g), examples);
  };
  const Tensor x = tracked(ones({2}));
  aot_function(f, {.backward = see})(TensorList{x})[0].sum().backward();
  const std::string file = "  File \"net.py\", line 1\n    ";
  int sums = 0;
  for (const std::string& line : found) {
    const bool is_sum = line.starts_with("add");
    sums += is_sum;
    const std::string around = "Gradient addition node due to multiple use of tensor around:";
    EXPECT_EQ(line.ends_with(around), is_sum) << line;
    EXPECT_NE(line.find(file), std::string::npos) << line;
    if (line.starts_with("mul:") || line.starts_with("mul_1:")) {
      EXPECT_NE(line.find("y = a * b"), std::string::npos) << line;
    }
  }
  EXPECT_EQ(sums, 1);
  EXPECT_GE(found.size(), 5u);
}

// The compiled backward is the only owner of what was saved for it, and can let go of it, unless
// somebody wants to run it again.
TEST_F(AotSteps, R131_SavedTensorsAreTheBackwardsOwn) {
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
  const TensorFunction f = [](const TensorList& in) { return TensorList{(in[0] * 2).sin().sin()}; };
  const AotFunction g = aot_function(f, {.forward = nop, .backward = emptying});
  const Tensor x = tracked(ones({100}));
  const auto saved = [&](bool retain) {
    const Tensor y = g(TensorList{x})[0].sum();
    y.backward({}, retain);
    if (retain) y.backward({}, true);
    return freed;
  };
  EXPECT_EQ(saved(true), 400) << "the tangent alone";
  EXPECT_EQ(saved(false), 400 + 2 * 400) << "and the two values that the forward kept";
}

// What a backward is given: saved sizes, saved tensors, then gradients of what has any of its own:
// the written input, results, bases.
TEST_F(AotSteps, R145_ArgumentsOfTheBackward) {
  Values given;
  std::string header;
  const Compiler keep = [&](std::shared_ptr<const Graph> g, const Values& examples) -> Boxed {
    header = print(*g).substr(0, print(*g).find('\n'));
    return [&given, run = nop(std::move(g), examples)](Values& arguments) {
      given = arguments;
      return run(arguments);
    };
  };
  const TensorFunction f = [](const TensorList& in) {
    Tensor(in[0]).mul_(in[1]);
    const Tensor base = in[1] * 3;
    return TensorList{in[1].sum(), in[1].view({-1}), base.view({-1}), base.t(), in[1].detach() * 2, aten<"argmax">(in[1]), in[0]};
  };
  const Tensor x = tracked(ones({2, 3})) * 1, y = tracked(full({2, 3}, 2.0));
  const TensorList out = aot_function(f, {.backward = keep, .dynamic = true})(TensorList{x, y});
  const Tensor weights = full({2, 3}, 7.0);
  (out[0] * 5 + (out[2].sum() + out[3].sum()) * 11 + (x * weights).sum() + out[1].sum()).backward();
  std::vector<std::string> kinds;
  for (const Value& v : given) kinds.push_back(v.is_tensor() ? "tensor" : "size");
  ASSERT_GE(given.size(), 4u);
  const std::size_t tangents = given.size() - 3;
  EXPECT_EQ(numbers_of(given[tangents].tensor()), std::vector<double>(6, 7)) << "of the written input";
  EXPECT_EQ(numbers_of(given[tangents + 1].tensor()), std::vector<double>({5})) << "of the sum";
  EXPECT_EQ(numbers_of(given[tangents + 2].tensor()), std::vector<double>(6, 22)) << "of the base of two views, not of them";
  EXPECT_TRUE(header.ends_with("tangents_1, tangents_2, tangents_3):")) << header;
  EXPECT_EQ(kinds[0], "size") << header;
  EXPECT_TRUE(std::is_sorted(kinds.begin(), kinds.end())) << "sizes before tensors";
  EXPECT_EQ(numbers_of(y.grad()), std::vector<double>(6, 5 + 22 * 3 + 1 + 7 * 1));
}

}  // namespace
}  // namespace ingot::aot
