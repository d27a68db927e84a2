// Which differences between two runs of a program count (support/seen.hpp).
#include "support/seen.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "ingot/ingot.hpp"

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
