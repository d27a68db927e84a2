// The rewrites that AOT makes are passes: seen, left out and blamed by name.
#include "aot/passes.hpp"

#include <algorithm>
#include <array>

#include "aot/min_cut.hpp"
#include "base/error.hpp"
#include "graph/copy.hpp"
#include "graph/save_policy.hpp"
#include "ingot/state.hpp"
#include "pass/compiler_passes.hpp"
#include "support/aot_harness.hpp"
#include "support/error_text.hpp"

namespace ingot::aot {
namespace {

using Names = std::vector<std::string>;

class AotPasses : public AotHarness {
 protected:
  // Comes by every pass: calls that nobody needs, equal ones, random ones that are made again, an
  // ordered effect.
  static TensorList function(const TensorList& in) {
    aten_value<"_print">("called");
    const CheckpointScope region;
    in[0].cos();
    const Tensor h = aten_value<"native_dropout">(in[0].sin() * in[0].sin(), 0.5, true).tensors()[0];
    return {h.exp()};
  }
  static AotFunction compiled() {
    return aot_function(TensorFunction(function), {.partition = MinCutPartitioner(), .unlift_effect_tokens = true});
  }
  // The result and the gradient.
  static std::vector<std::vector<double>> run(const TensorFunction& f) {
    const Tensor x = full({8}, 0.5).requires_grad_();
    manual_seed(3);
    ::testing::internal::CaptureStderr();
    const Tensor y = f({x})[0];
    y.sum().backward();
    ::testing::internal::GetCapturedStderr();
    return {detached(y).to_vector<double>(), x.grad().to_vector<double>()};
  }
  static std::vector<std::vector<double>> run_compiled() {
    return run([f = compiled()](const TensorList& in) { return f(in); });
  }
};

TEST_F(AotPasses, EachIsSeenUnderItsName) {
  Names seen;
  const PassScope scope({.after = [&](const PassDone& d) {
    EXPECT_GE(d.seconds, 0);
    seen.emplace_back(d.name);
  }});
  EXPECT_EQ(run_compiled(), run(function));
  EXPECT_EQ(seen, (Names{"dead_code", "dead_code", "merge_equal", "forward_part", "backward_part", "reorder", "random_states",
                         "random_states", "own_tokens", "own_tokens"}));
  // The others are those of Ingot's own compiler (AotPair.EachPassIsInTheListAndRuns).
  const std::vector<StepName> others = compiler_passes();
  for (const StepName& p : pass_names())
    EXPECT_TRUE(std::ranges::count(seen, p.name) || std::ranges::count(others, p.name, &StepName::name)) << p.name;
  for (const std::string& name : seen)
    EXPECT_TRUE(std::ranges::any_of(pass_names(), [&](const StepName& p) { return p.name == name; })) << name;
}

TEST_F(AotPasses, ThoseThatAreNotRequiredCanBeSkipped) {
  const auto want = run(function);
  int skipped = 0;
  for (const StepName& p : pass_names()) {
    const PassScope scope({.skip = {std::string(p.name)}, .after = [&](const PassDone& d) { EXPECT_NE(d.name, p.name); }});
    if (!p.required) {
      EXPECT_EQ(run_compiled(), want) << p.name;
      skipped++;
      continue;
    }
    EXPECT_EQ(
        error_of([] { compiled()(TensorList{ones({8}).requires_grad_()}); }),
        text("pass '", p.name, "' cannot be skipped: what comes after it needs what it makes; those that can be skipped are ",
             "dead_code, merge_equal, reorder"));
  }
  EXPECT_EQ(skipped, 3);
}

// What --skip and CompileOptions::skip say of such a name.
TEST_F(AotPasses, OneThatDoesNotExistCannotBeSkipped) {
  for (const char* name : {"merge_equals", "fold", ""}) {
    const PassScope scope({.skip = {"merge_equal", name}});
    EXPECT_EQ(error_of([] { compiled()(TensorList{ones({8}).requires_grad_()}); }),
              text("there is no pass '", name, "' to skip; those that can be skipped are dead_code, merge_equal, reorder"));
  }
}

// What the graph makes is not what it returns: a result is a node of the graph before.
Graph bad(const Graph& g) {
  Graph to = clone(g);
  to.outputs = {g.outputs[0]};
  return to;
}

TEST_F(AotPasses, ABadOneIsNamed) {
  setenv("INGOT_VERIFY", "1", 1);  // as all tests have it by their presets
  const auto failure_with = [](const Partitioner& partition) -> std::string {
    try {
      aot_function(TensorFunction(function), {.partition = partition})(TensorList{ones({8}).requires_grad_()});
    } catch (const InternalError& e) {
      return e.what();
    }
    return "the graph was taken";
  };
  const auto expect_in = [](const std::string& whole, const std::string& part) {
    EXPECT_NE(whole.find(part), std::string::npos) << whole;
  };
  expect_in(failure_with([](const Joint& j) {
              const Graph rewritten = run_passes(j.graph, std::array{Pass{"my_rewrite", bad}});
              return partition_default({rewritten, j.forward_outputs, j.written, j.written_by_backward});
            }),
            "pass 'my_rewrite' made a graph that breaks a rule: the results: uses ");
  expect_in(failure_with([](const Joint& j) {
              Parts parts = partition_default(j);
              parts.backward.outputs[0] = parts.forward.outputs[0];
              return parts;
            }),
            "pass 'partition' made a graph that breaks a rule: the results: uses ");
}

}  // namespace
}  // namespace ingot::aot
