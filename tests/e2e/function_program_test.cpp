// C++ functions as programs: run op by op, compiled, and joined with others like those of files.
#include "compiler/function_program.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "compiler/compiled_program.hpp"
#include "ingot/ingot.hpp"
#include "program/join.hpp"
#include "support/error_text.hpp"
#include "support/listed_program.hpp"
#include "support/test_folder.hpp"

namespace ingot {
namespace {

TensorList mean_of_rows(const TensorList& in) { return {in[0].mean({1}), in[0] + in[1]}; }

TEST(FunctionProgram, RunsOpByOpAndCompiled) {
  Program p = function_program(mean_of_rows, {randn({4, 3}), randn({3})}, {{.input = 0, .dim = 0}});
  ASSERT_TRUE(p.main().sizes.has_value());
  EXPECT_EQ(p.main().user_inputs().size(), 2u);
  const CompiledProgram compiled(p);
  for (const int64_t rows : {2, 7}) {
    const Tensor x = randn({rows, 3}), y = randn({3});
    const Values by_ops = p.run(Values{x, y}), found = compiled.run(p, Values{x, y});
    ASSERT_EQ(by_ops.size(), 2u);
    EXPECT_TRUE(allclose(by_ops[0].tensor(), x.mean({1})));
    for (std::size_t k = 0; k < 2; k++) EXPECT_TRUE(allclose(found[k].tensor(), by_ops[k].tensor()));
  }
}

TEST(FunctionProgram, HoldsWhatItWasTracedFor) {
  // Which program it is depends on the size.
  const TensorFunction f = [](const TensorList& in) { return TensorList{in[0].size(0) > 5 ? in[0].sin() : in[0].cos()}; };
  Program p = function_program(f, {randn({8})}, {{.input = 0, .dim = 0}});
  EXPECT_TRUE(allclose(p.run(Values{ones({6})})[0].tensor(), ones({6}).sin()));
  EXPECT_NE(error_of([&] { (void)p.run(Values{ones({4})}); }).find("model: the program was traced for"), std::string::npos);
}

TEST(FunctionProgram, WritesItsArguments) {
  const TensorFunction f = [](const TensorList& in) {
    Tensor(in[0]).add_(in[1]);
    return TensorList{in[0] * 2};
  };
  Program p = function_program(f, {ones({3}), ones({3})});
  const Tensor a = ones({3}), b = ones({3});
  EXPECT_TRUE(equal(p.run(Values{a, ones({3})})[0].tensor(), full({3}, 4.0)));
  EXPECT_TRUE(equal(a, full({3}, 2.0)));
  EXPECT_TRUE(equal(CompiledProgram(p).run(p, Values{b, ones({3})})[0].tensor(), full({3}, 4.0)));
  EXPECT_TRUE(equal(b, full({3}, 2.0)));
}

// A function and a program with state are entry points of one library; any of them is run.
TEST(FunctionProgram, JoinsOthers) {
  std::vector<Program> programs;
  programs.push_back(testing::listed_program({{"step",
                                               R"(def forward(self, n: "f32[2]", x: "f32[2]"):
    add: "f32[2]" = torch.ops.aten.add.Tensor(n, x);  x = None
    return (add, n)
)",
                                               {"n"}}},
                                             {{"n", zeros({2})}}));
  programs.push_back(function_program(mean_of_rows, {randn({4, 3}), randn({3})}));
  programs.back().main().name = "means";
  Program p = join(std::move(programs));
  const CompiledProgram compiled(p);
  const Tensor x = randn({4, 3}), y = randn({3});
  EXPECT_TRUE(allclose(compiled.run(p, Values{x, y}, p.entry_named("means"))[0].tensor(), x.mean({1})));
  (void)compiled.run(p, Values{ones({2})});
  EXPECT_TRUE(equal(p.state.at("n").tensor, ones({2})));
}

}  // namespace
}  // namespace ingot
