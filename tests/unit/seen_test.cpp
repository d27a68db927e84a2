// Which differences between two runs of a program count (support/seen.hpp).
#include "support/seen.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/dtype.hpp"
#include "ingot/ingot.hpp"
#include "support/perturb.hpp"

namespace ingot::testing {
namespace {

Step rounding(Step s) {
  s.rounds = true;
  return s;
}

// Returns what the last step makes of four numbers.
Program program_of(std::vector<Step> body) {
  Program p;
  p.bases = {{.sizes = {4}}};
  p.inputs = {{.base = 0, .views = {}}};
  p.body = std::move(body);
  p.outputs = {static_cast<int>(p.body.size())};
  return p;
}
// What is said where an element of the result is off by so much.
std::optional<std::string> difference(const Program& p, int64_t element, double off) {
  const auto outcome = [&] { return outcome_of(p, {.gradients = false}, [&](const TensorList& in) { return run(p, in); }); };
  const Outcome want = outcome();
  Outcome got = outcome();
  got.results[0].select(0, element).add_(off);
  Allowance allowance(p, 0, false);
  return allowance.difference(seen(want), seen(got));
}

TEST(Seen, JudgesEachElementByItself) {
  const Program p = program_of({rounding(Step::of("mul.Scalar", {0}, {1e6})), [] {
                                  Step s;
                                  s.op = "cat";
                                  s.args = {tensors_arg({0, 1}), int64_t{0}};
                                  return s;
                                }()});
  EXPECT_EQ(difference(p, 0, 0), std::nullopt);
  EXPECT_TRUE(difference(p, 0, 1e-4));  // eight units of the numbers beside it are more than this
  EXPECT_EQ(difference(p, 4, 0.05), std::nullopt);
  EXPECT_TRUE(difference(p, 4, 100));
}

// Numbers between 1 and 5, so that a unit of the last place is about the same of each, and of both
// parts of a complex one.
TEST(Seen, JudgesByTheUnitsOfEveryType) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::c64}) {
    Program p = program_of({rounding(Step::of("mul.Scalar", {0}, {1.1}))});
    p.seed = 1;
    p.grid = false;
    p.bases[0].dtype = dtype;
    p.bases[0].shift = 3;
    const std::vector<double> found = numbers(run(p, make_inputs(p, {.gradients = false}).inputs)[0]);
    const std::size_t parts = is_complex(dtype) ? 2 : 1;
    for (int64_t element = 0; element < 4; element++) {
      const double unit = unit_of(dtype) * found[static_cast<std::size_t>(element) * parts];
      EXPECT_EQ(difference(p, element, 4 * unit), std::nullopt) << text(dtype) << " element " << element;
      EXPECT_TRUE(difference(p, element, 100 * unit)) << text(dtype) << " element " << element;
      EXPECT_TRUE(difference(p, element, -100 * unit)) << text(dtype) << " element " << element;
    }
  }
}

TEST(Seen, AllowsWhatCancellationLeaves) {
  const Program p = program_of({rounding(Step::of("add.Scalar", {0}, {1e4})), rounding(Step::of("sub.Scalar", {1}, {1e4}))});
  EXPECT_EQ(difference(p, 1, 1e-3), std::nullopt);
  EXPECT_TRUE(difference(p, 1, 0.1));
}

// Half of the terms are infinite, as masks make them; the result is finite, and not by chance.
TEST(Seen, JudgesWhatIsFiniteBesideInfinities) {
  Step joined;
  joined.op = "cat";
  joined.args = {tensors_arg({0, 2}), int64_t{0}};
  const Program p = program_of(
      {Step::of("mul.Scalar", {0}, {0.0}), Step::of("log", {1}), joined, rounding(Step::of("logsumexp", {3}, {Shape{0}, true}))});
  EXPECT_EQ(difference(p, 0, 1e-7), std::nullopt);
  EXPECT_TRUE(difference(p, 0, 1e-3));
  EXPECT_TRUE(difference(p, 0, INFINITY));
  EXPECT_TRUE(difference(p, 0, NAN));
}

// An infinite operand of gelu is its result: nothing but an infinity is that.
TEST(Seen, JudgesWhatIsInfinite) {
  const Program p = program_of({Step::of("mul.Scalar", {0}, {0.0}), Step::of("log", {1}), Step::of("neg", {2}),
                                rounding(Step::of("gelu", {3}, {std::string("none")}))});
  EXPECT_EQ(difference(p, 0, 0), std::nullopt);
  EXPECT_TRUE(difference(p, 0, -INFINITY));
}

}  // namespace
}  // namespace ingot::testing
