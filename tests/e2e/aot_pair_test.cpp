// The two graphs of a function with gradients as two entry points of one library.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <thread>

#include "aot/context.hpp"
#include "aot/passes.hpp"
#include "compiler/aot_compiler.hpp"
#include "compiler/compiled_graph.hpp"
#include "e2e/compiled_model.hpp"
#include "graph/save_policy.hpp"
#include "graph/text.hpp"
#include "ingot/autograd.hpp"
#include "ingot/ingot.hpp"
#include "host/library_entry.hpp"
#include "host/package.hpp"
#include "op/call.hpp"
#include "op/op.hpp"
#include "pass/pass.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"
#include "support/tracked.hpp"
#include "tensor/random.hpp"

namespace ingot::aot {
namespace {

using AotPair = NoLeaks;

TensorList layer(const TensorList& in) { return {(in[0].matmul(in[1]) + in[2]).tanh()}; }

TEST_F(AotPair, BothGraphsAreEntryPointsOfOneLibrary) {
  const TemporaryFolder folder;
  std::vector<std::string> entries;
  AotOptions options;
  options.together = [&](const GraphPair& graphs) -> BoxedPair {
    const std::array both{GraphToCompile{"forward", *graphs.forward, graphs.forward_examples},
                          GraphToCompile{"backward", *graphs.backward, graphs.backward_examples}};
    const auto compiled = compile_graphs(both, {}, folder.path());
    entries = entry_names(*ModelLibrary::load(folder.path() + "/graph.so"));
    return {boxed(compiled[0]), boxed(compiled[1])};
  };
  manual_seed(1);
  const TensorList in{tracked(randn({4, 3})), tracked(randn({3, 2})), tracked(randn({2}))};
  const Tensor seed = randn({4, 2});
  const TensorList y = aot_function(TensorFunction(layer), options)(in), want = layer(in);
  EXPECT_EQ(entries, (std::vector<std::string>{"forward", "backward"}));
  EXPECT_TRUE(allclose(y[0], want[0]));
  const TensorList found = grad(y, in, {seed}), expected = grad(want, in, {seed});
  for (std::size_t k = 0; k < in.size(); k++) EXPECT_TRUE(allclose(found[k], expected[k], 1e-5, 1e-6)) << k;
}

// Both graphs are lowered as they are, for open sizes as for fixed ones, and where they write their
// inputs: no trace comes between.
TEST_F(AotPair, GraphsAreTakenAsTheyAre) {
  const TensorFunction norm = [](const TensorList& in) {
    const Tensor h = gelu(in[0].matmul(in[1])), n = aten<"layer_norm">(h, Shape{16}, in[2], in[2], 1e-5);
    return TensorList{n.softmax(-1).reshape({-1})};
  };
  const TensorFunction writes = [](const TensorList& in) {
    Tensor(in[0]).slice(0, 1).mul_(2);
    return TensorList{in[0] + in[1]};
  };
  for (const bool dynamic : {false, true}) {
    SCOPED_TRACE(dynamic ? "open sizes" : "fixed sizes");
    int taken = 0;
    const PassScope scope({.after = [&](const PassDone& done) { taken += done.name == "taken_inputs"; }});
    AotOptions options{.forward = ingot_compiler(), .keep_inference_input_mutations = true, .dynamic = dynamic};
    options.together = ingot_pair_compiler();
    const AotFunction compiled = aot_function(norm, options), written = aot_function(writes, options);
    manual_seed(1);
    for (const int64_t n : {5, 9}) {
      const TensorList in{tracked(randn({n, 8})), tracked(randn({8, 16})), tracked(randn({16}))};
      const TensorList y = compiled(in), want = norm(in);
      expect_close(want, y);
      expect_close(grad(want, in, {ones({n * 16})}), grad(y, in, {ones({n * 16})}));
      const TensorList a{randn({n}), randn({n})}, b{a[0].clone(), a[1]};
      expect_close(writes(a), written(b));
      expect_close(a, b);
    }
    EXPECT_EQ(taken, dynamic ? 3 : 6);  // forward, backward and the function that writes, for all sizes or for each
  }
}

// It writes a matrix, and has a kernel alone.
constinit const OpDef kPairOps[] = {{.schema = "pairs::shift(Tensor(a!) x) -> ()",
                                     .meta = [](const Call&, Outputs&) {},
                                     .kernel =
                                         [](const Call& c, std::span<const Tensor>) {
                                           const Tensor& x = c.tensor(0);
                                           const int64_t down = x.strides()[0].value(), along = x.strides()[1].value();
                                           for (int64_t i = 0; i < x.size(0).value(); i++)
                                             for (int64_t j = 0; j < x.size(1).value(); j++)
                                               x.data<float>()[i * down + j * along] += 1;
                                         }}};

// A pass that is in no list could not be looked up, nor refused to who wants to skip it; a name of
// which no pass runs says nothing. The functions are such that together they come by every pass.
TEST_F(AotPair, EachPassIsInTheListAndRuns) {
  static const bool registered = (register_ops(kPairOps), true);
  (void)registered;
  std::set<std::string> seen, listed;
  for (const StepName& p : pass_names()) EXPECT_TRUE(listed.emplace(p.name).second) << p.name << " is listed twice";
  {
    const PassScope scope({.after = [&](const PassDone& done) { seen.emplace(done.name); }});
    // A pair, of which the backward makes random numbers again.
    const TensorFunction drops = [](const TensorList& in) {
      const CheckpointScope region;
      return TensorList{dropout(in[0].mm(in[1]), 0.5).sin()};
    };
    const TensorList leaves{tracked(ones({4, 4})), tracked(ones({4, 4}))};
    memory_efficient_fusion(drops)(leaves)[0].sum().backward();
    EXPECT_EQ(leaves[1].grad().sizes(), (Shape{4, 4}));
    // One that is taken as it is, without a trace.
    const TensorFunction plain = [](const TensorList& in) { return TensorList{in[0].mm(in[1]).softmax(-1)}; };
    memory_efficient_fusion(plain)(leaves)[0].sum().backward();
    // An effect that has an order.
    const TensorFunction acts = [](const TensorList& in) {
      aten_value<"_print">("called");
      return TensorList{in[0].sin()};
    };
    ::testing::internal::CaptureStderr();
    aot_function(acts, {.unlift_effect_tokens = true})(TensorList{tracked(ones({2}))});
    ::testing::internal::GetCapturedStderr();
    // A write to what begins inside of a storage, said by places.
    const TensorFunction writes = [](const TensorList& in) {
      call(op("pairs::shift"), Values{in[0].t()});
      return TensorList{in[0] + 1};
    };
    const auto part = [] { return TensorList{arange(20).to(float32).reshape({5, 4}).slice(0, 1, 4)}; };
    const TensorList given = part(), taken = part();
    expect_close(writes(given), memory_efficient_fusion(writes)(taken));
    expect_close(given, taken);
  }
  EXPECT_EQ(seen, listed);
}

// What is read back from a folder is the graph whose entry point it is.
TEST_F(AotPair, EachIsReadFromTheFolderOfBoth) {
  const TemporaryFolder folder;
  const Graph sine = parse_graph(
                  "def forward(self, x: \"f32[3]\"):\n"
                  "    sin: \"f32[3]\" = torch.ops.aten.sin.default(x)\n    return (sin,)\n"),
              double_of = parse_graph(
                  "def forward(self, x: \"f32[3]\"):\n"
                  "    mul: \"f32[3]\" = torch.ops.aten.mul.Tensor(x, 2)\n    return (x, mul)\n");
  const Values examples{sine.inputs()[0]->meta};
  const std::array graphs{GraphToCompile{"sine", sine, examples}, GraphToCompile{"double", double_of, examples}};
  const auto compiled = compile_graphs(graphs, {}, folder.path());
  compiled[0]->save(sine, "sine", folder.path());
  compiled[1]->save(double_of, "double", folder.path());
  const Tensor x = randn({3});
  const auto run = [&](const CompiledGraph& g) {
    Values given{x};
    return g.run(given);
  };
  const auto saved = [&](std::string_view entry) { return CompiledGraph::read(folder.path(), std::array{entry})[0]; };
  EXPECT_TRUE(allclose(run(*saved("sine"))[0].tensor(), x.sin()));
  const Values both = run(*saved("double"));
  EXPECT_TRUE(both[0].tensor().is_same(x));
  EXPECT_TRUE(equal(both[1].tensor(), x * 2));
  EXPECT_THROW(saved("cosine"), UserError);
}

// Whether the backward is needed is not known when the forward runs: one without a compiled form is
// refused when it is asked for.
TEST_F(AotPair, WhereTheyCannotBeCompiledTogetherEachHasItsTurn) {
  std::vector<std::string> seen;
  AotOptions options;
  options.together = [&](const GraphPair&) -> BoxedPair {
    const std::string context = compile_context().names.at(0);  // 3_forward
    seen.push_back("together in " + context.substr(context.find('_') + 1));
    throw_user_error("the backward has no compiled form");
  };
  options.forward = [&](const std::shared_ptr<const Graph>& g, const Values& examples) {
    seen.push_back("forward");
    return nop(g, examples);
  };
  options.backward = [&](const std::shared_ptr<const Graph>&, const Values&) -> Boxed {
    seen.push_back("backward");
    throw_user_error("the backward has no compiled form");
  };
  const Tensor x = tracked(ones({2}));
  const Tensor y =
      aot_function(TensorFunction([](const TensorList& in) { return TensorList{in[0].sin()}; }), options)(TensorList{x})[0];
  EXPECT_TRUE(allclose(y, x.sin()));
  EXPECT_EQ(seen, (std::vector<std::string>{"together in forward", "forward"}));
  EXPECT_EQ(error_of([&] { y.sum().backward(); }), "the backward has no compiled form");
  EXPECT_EQ(seen.back(), "backward");
}

// What was compiled of the forward before the backward was found to have no compiled form is not
// compiled again.
TEST_F(AotPair, AForwardWhoseBackwardHasNoCompiledFormIsCompiledOnce) {
  const Graph sine = parse_graph(
                  "def forward(self, x: \"f32[3]\"):\n"
                  "    sin: \"f32[3]\" = torch.ops.aten.sin.default(x)\n    return (sin,)\n"),
              storage = parse_graph(
                  "def forward(self, x: \"f32[3]\", y: \"f32[3]\"):\n"
                  "    set_ = torch.ops.aten.set_.source_Tensor(x, y)\n    return (y,)\n");
  const Values example{sine.inputs()[0]->meta}, examples{storage.inputs()[0]->meta, storage.inputs()[1]->meta};
  std::vector<std::string> stages, why;
  CompileOptions compile_options;
  compile_options.after = [&](const StageDone& done) { stages.emplace_back(done.name); };
  const auto shared = [](const Graph& g) { return std::shared_ptr<const Graph>(std::shared_ptr<void>(), &g); };
  const BoxedPair made = ingot_pair_compiler(compile_options)({shared(sine), shared(storage), example, examples});
  EXPECT_FALSE(made.backward);
  EXPECT_NE(made.why_alone.find("changes the storage of an input, which has no compiled form"), std::string::npos)
      << made.why_alone;
  EXPECT_EQ(std::ranges::count(stages, "lower"), 1);
  Values given{ones({3})};
  EXPECT_TRUE(allclose(made.forward(given)[0].tensor(), ones({3}).sin()));

  // The AOT layer takes the forward, says why, and gives the backward to its own compiler when it
  // is needed.
  int forwards = 0, backwards = 0;
  AotOptions options;
  options.together = [](const GraphPair& g) -> BoxedPair { return {nop(g.forward, g.forward_examples), {}, "it is odd"}; };
  options.forward = [&](const std::shared_ptr<const Graph>& g, const Values& e) { return forwards++, nop(g, e); };
  options.backward = [&](const std::shared_ptr<const Graph>& g, const Values& e) { return backwards++, nop(g, e); };
  options.log = [&](const std::string& note) { why.push_back(note); };
  const Tensor x = tracked(ones({2}));
  const Tensor y =
      aot_function(TensorFunction([](const TensorList& in) { return TensorList{in[0].sin()}; }), options)(TensorList{x})[0];
  EXPECT_EQ(why, std::vector<std::string>{"forward and backward are not compiled together: it is odd"});
  EXPECT_EQ(forwards + backwards, 0);
  y.sum().backward();
  EXPECT_EQ(forwards, 0);
  EXPECT_EQ(backwards, 1);
  EXPECT_TRUE(allclose(x.grad(), x.detach().cos()));
}

// R195: contexts are entered in the same order. Without gradients there is one graph, which has its
// own compiler.
TEST_F(AotPair, R195_ThePairIsCompiledOnceAndInferenceByItsOwnCompiler) {
  int pairs = 0, alone = 0;
  AotOptions options;
  options.together = [&](const GraphPair& graphs) -> BoxedPair {
    pairs++;
    return {nop(graphs.forward, graphs.forward_examples), nop(graphs.backward, graphs.backward_examples)};
  };
  options.forward = [&](const std::shared_ptr<const Graph>& g, const Values& examples) {
    alone++;
    return nop(g, examples);
  };
  const TensorFunction sine = [](const TensorList& in) { return TensorList{in[0].sin()}; };
  const AotFunction f = aot_function(sine, options);
  const Tensor x = tracked(ones({2}));
  std::thread([&] {  // contexts are a thread's own, so these begin at 0
    const Tensor y = f(TensorList{x})[0];
    EXPECT_EQ(compile_context().number, 3) << "joint, forward, backward";
    y.sum().backward();
    EXPECT_EQ(compile_context().number, 3) << "nothing is compiled any more";
  })
      .join();
  EXPECT_TRUE(allclose(x.grad(), x.detach().cos()));
  EXPECT_EQ(pairs, 1);
  EXPECT_EQ(alone, 0);
  EXPECT_TRUE(allclose(aot_function(sine, options)(TensorList{ones({2})})[0], ones({2}).sin()));
  EXPECT_EQ(pairs, 1);
  EXPECT_EQ(alone, 1);
}

// Forward and backward share a container; each thread has a stream of random numbers of its own.
TEST_F(AotPair, ForwardAndBackwardRunAtTheSameTime) {
  const TensorFunction f = [](const TensorList& in) { return TensorList{aten<"dropout">(in[0].matmul(in[1]), 0.5, true).sum()}; };
  const AotFunction compiled = memory_efficient_fusion(f);
  manual_seed(1);
  const Tensor a = randn({16, 16}), b = randn({16, 16});
  const auto step = [&](const TensorFunction& g, uint64_t seed) {
    const TensorList in{tracked(a.clone()), tracked(b.clone())};
    manual_seed(seed);
    g(in)[0].backward();
    return in[0].grad();
  };
  const TensorFunction fused = [&](const TensorList& in) { return compiled(in); };
  step(fused, 0);  // compiles
  std::vector<std::thread> threads;
  std::array<bool, 4> agree{};
  for (std::size_t t = 0; t < agree.size(); t++)
    threads.emplace_back([&, t] {
      const OwnStream stream;
      bool all = true;
      for (uint64_t k = 0; k < 20; k++) all = all && allclose(step(fused, 10 * t + k), step(f, 10 * t + k), 1e-5, 1e-6);
      agree[t] = all;
    });
  for (std::thread& t : threads) t.join();
  for (const bool b : agree) EXPECT_TRUE(b);
}

}  // namespace
}  // namespace ingot::aot
