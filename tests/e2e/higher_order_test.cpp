// Exported programs with operators that write and with flex_attention, compiled: PyTorch's numbers,
// with gradients where it has them.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "check/case_inputs.hpp"
#include "check/run_case.hpp"
#include "compiler/aot_compiler.hpp"
#include "compiler/compiled_program.hpp"
#include "compiler/pipeline.hpp"
#include "graph/text.hpp"
#include "format/pt2/load.hpp"
#include "ingot/autograd.hpp"
#include "support/flex_cases.hpp"
#include "support/writing_ops.hpp"

namespace ingot {
namespace {

// The program of an operator that writes comes apart into ops: nothing is left of the operator,
// which the library has no code for.
TEST(CompiledHigherOrder, P172_OperatorsThatWriteComeApart) {
  testing::register_writing_ops();
  int count = 0;
  for (const Case& c : find_cases(std::string(INGOT_TEST_DATA) + "/higher_order")) {
    CheckOptions options;
    options.prepare = [](Program& program) -> Execute {
      const auto compiled = std::make_shared<const CompiledProgram>(program);
      return [compiled](Program& p, Args inputs) { return compiled->run(p, inputs); };
    };
    const CheckResult r = check_case(c, options);
    EXPECT_EQ(r.outcome, CheckResult::Outcome::passed) << c.name << ": " << r.message;
    Program p = load_pt2(c.program);
    const SafeTensors data = SafeTensors::open(c.data.at(0));
    const TensorList in = case_inputs(c, data, false);
    const CompiledProgram compiled(p);
    (void)compiled.run(p, Values(in.begin(), in.end()));
    for (std::size_t i = 0; i < in.size(); i++)
      EXPECT_EQ(compare(in[i], data.get(text("after.", i)), {}).message, "") << c.name << " input " << i;
    count++;
  }
  EXPECT_EQ(count, 20);
}

TEST(CompiledHigherOrder, P172_FlexAttentionWithItsGradients) {
  for (const testing::FlexCase& c : testing::flex_cases(std::string(INGOT_TEST_DATA) + "/flex_attention")) {
    const Graph g = c.graph();
    const aot::AotFunction f = aot::memory_efficient_fusion(testing::interpreted(g));
    EXPECT_EQ(testing::difference_from_pytorch(c, [&](const TensorList& in) { return f(in); }), "") << c.name;
  }
}

TEST(CompiledHigherOrder, X04_BackwardGraphsOfPyTorch) {
  for (const testing::FlexCase& c : testing::flex_cases(std::string(INGOT_TEST_DATA) + "/flex_attention_backward")) {
    const Graph g = c.graph();
    const TensorFunction f = [&](const TensorList& in) {
      TensorList out;
      for (const Value& v : Interpreter(g).run(Values(in.begin(), in.end())))
        if (v.is_tensor()) out.push_back(v.tensor());
      return out;
    };
    EXPECT_EQ(testing::difference_from_pytorch(c, [&](const TensorList& in) { return aot_run("cpu", f, in); }), "") << c.name;
  }
}

// The functions are part of the loops: no call of an op is left, with open sizes too.
TEST(CompiledHigherOrder, P172_FlexAttentionIsLoops) {
  for (const testing::FlexCase& c : testing::flex_cases(std::string(INGOT_TEST_DATA) + "/flex_attention")) {
    if (!c.name.starts_with("alibi") && !c.name.starts_with("window")) continue;
    const Graph g = c.graph();
    std::vector<OpenSize> open;
    const bool is_open = c.name.ends_with("_open");
    if (is_open)
      for (const int i : {1, 2, 3}) open.push_back({.input = i, .dim = 2, .name = "length"});
    CompileOptions options;
    std::string loops;
    options.after = [&](const StageDone& done) {
      if (done.name == "schedule") loops = done.text();
    };
    std::vector<TensorList> lists{c.inputs};
    if (is_open)  // the same library for other lengths
      for (const int64_t n : {2, 5, 33})
        lists.push_back({c.inputs[0], randn({2, 2, n, 4}), randn({2, 2, n, 4}), randn({2, 2, n, 4})});
    const std::vector<TensorList> out = aot_run_multiple("cpu", testing::interpreted(g), lists, options, open);
    for (std::size_t k = 0; k < lists.size(); k++) {
      const Tensor want = testing::interpreted(g)(lists[k])[0];
      EXPECT_EQ(compare(out[k][0], want, tolerance_for(want.dtype(), false, "flex_attention", {})).message, "")
          << c.name << " " << k;
    }
    EXPECT_EQ(compare(out[0][0], c.results[0], tolerance_for(c.results[0].dtype(), false, "flex_attention", {})).message, "")
        << c.name;
    EXPECT_NE(loops.find("kernel "), std::string::npos) << loops;
    EXPECT_EQ(loops.find("eager "), std::string::npos) << c.name << "\n" << loops;
  }
}

}  // namespace
}  // namespace ingot
