// What the fuzzer prints of a program is that program: its C++ compiles and computes the same, its
// FX text reads back.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "graph/same.hpp"
#include "graph/text.hpp"
#include "graph/trace.hpp"
#include "ingot/control_flow.hpp"
#include "ingot/ingot.hpp"
#include "ingot/transforms.hpp"
#include "op/call.hpp"
#include "support/random_program.hpp"
#include "support/seen.hpp"
#include "support/wrappers.hpp"

namespace ingot::testing {
namespace printed {
#include "data/printed_programs.inc"
}  // namespace printed
namespace {

struct Printed {
  const char* way;  // of ingot_program_fuzz; `ingot_program_fuzz WAY cpp SEED…` prints them, in this order
  Program (*make)(uint64_t seed);
  uint64_t seed;
  TensorList (*inputs)();
  TensorList (*program)(const TensorList& in);
};
Program of_families(uint64_t seed) { return wide_program(seed); }
Program of_layers(uint64_t seed) { return wide_program(seed, {.layers = true}); }
#define INGOT_PRINTED(way, make, seed) \
  Printed { #way, make, seed, printed::way##_##seed::inputs, printed::way##_##seed::program }
const Printed kPrinted[] = {
    INGOT_PRINTED(functionalize, random_program, 3),    INGOT_PRINTED(functionalize, random_program, 7),
    INGOT_PRINTED(functionalize, random_program, 11),   INGOT_PRINTED(functionalize, random_program, 19),
    INGOT_PRINTED(wide_functionalize, of_families, 5),  INGOT_PRINTED(wide_functionalize, of_families, 16),
    INGOT_PRINTED(wide_functionalize, of_families, 23), INGOT_PRINTED(wide_functionalize, of_families, 40),
    INGOT_PRINTED(wide_functionalize, of_families, 57), INGOT_PRINTED(wide_functionalize, of_families, 61),
    INGOT_PRINTED(wide_functionalize, of_families, 88), INGOT_PRINTED(layers_functionalize, of_layers, 2),
    INGOT_PRINTED(layers_functionalize, of_layers, 9),
};
#undef INGOT_PRINTED

TEST(ProgramText, PrintedProgramsAreThePrograms) {
  std::string text;
  for (const Printed& f : kPrinted) text += to_cpp(f.make(f.seed), std::string(f.way) + "_" + std::to_string(f.seed));
  std::ifstream in(INGOT_TEST_DATA "/printed_programs.inc");
  std::stringstream s;
  s << in.rdbuf();
  EXPECT_EQ(s.str(), text);
}

TEST(ProgramText, PrintedProgramsCompute) {
  for (const Printed& f : kPrinted) {
    const Program p = f.make(f.seed);
    const Outcome want = outcome_of(p, {}, [&](const TensorList& in) { return run(p, in); });
    Outcome got = want;
    got.in.inputs = f.inputs();
    manual_seed(p.seed);
    got.results = f.program(got.in.inputs);
    ASSERT_EQ(want.results.size(), got.results.size());
    const std::vector<Seen> x = seen(want), y = seen(got);
    ASSERT_EQ(x.size(), y.size());
    for (std::size_t k = 0; k < x.size(); k++) {
      EXPECT_EQ(x[k].facts, y[k].facts) << f.way << " " << f.seed << ", " << x[k].what;
      const std::vector<double> a = numbers(x[k].values), b = numbers(y[k].values);
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t i = 0; i < a.size(); i++)
        EXPECT_TRUE(a[i] == b[i] || (a[i] != a[i] && b[i] != b[i])) << f.way << " " << f.seed << ", " << x[k].what << " " << i;
    }
  }
}

// How many graphs there were.
int read_back(Program (*make)(uint64_t), uint64_t count) {
  int graphs = 0;
  for (uint64_t seed = 1; seed <= count; seed++) {
    const Program p = make(seed);
    const std::string text = to_fx(p);
    if (text.starts_with("no graph: ")) continue;
    const GraphFunction f =
        make_fx([&](const TensorList& in) { return run(p, in); }, make_inputs(p, {.gradients = false}).inputs);
    const Graph back = parse_graph(text, {.attributes = &f.traced().graph.attributes});
    EXPECT_EQ(difference(f.traced().graph, back), "") << seed << "\n" << text;
    graphs++;
  }
  return graphs;
}
TEST(ProgramText, FxTextsReadBack) {
  EXPECT_EQ(read_back(random_program, 100), 100);
  EXPECT_EQ(read_back(of_families, 100), 90);
}

}  // namespace
}  // namespace ingot::testing
