// The judge itself: what differs must be seen to differ, and a case that did not run must not pass.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "check/workers.hpp"
#include "ingot/ingot.hpp"

namespace ingot {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

std::string fault(const Tensor& got, const Tensor& want, Tolerance t = {}) { return compare(got, want, t).message; }

TEST(Compare, SeesWhatDiffers) {
  EXPECT_EQ(fault(tensor({1.0, 2.0}), tensor({1.0, 2.0})), "");
  EXPECT_NE(fault(tensor({1.0, 2.0}), tensor({1.0, 2.1}), {0.05, 0}), "");
  EXPECT_EQ(fault(tensor({1.0, 2.0}), tensor({1.0, 2.1}), {0.2, 0}), "");
  EXPECT_EQ(fault(tensor({kNan}), tensor({kNan})), "");
  EXPECT_NE(fault(tensor({kNan}), tensor({1.0}), {1e9, 1e9}), "");
  EXPECT_NE(fault(tensor({1.0}), tensor({kNan}), {1e9, 1e9}), "");
  EXPECT_EQ(fault(tensor({kInf}), tensor({kInf})), "");
  EXPECT_NE(fault(tensor({kInf}), tensor({-kInf}), {1e9, 1e9}), "");
  EXPECT_NE(fault(tensor({kInf}), tensor({1.0}), {1e9, 1e9}), "");
  EXPECT_NE(fault(tensor({1.0}), tensor({1.0, 1.0})), "");
  EXPECT_NE(fault(tensor({1.0}), tensor({1.0}).to(float64)), "");
  EXPECT_NE(fault(Tensor(), tensor({1.0})), "");
}

// What is no further from the exact result than PyTorch's is PyTorch's: element by element, of
// whole programs also as a whole.
TEST(Compare, RoundingIsPyTorchsWhereItIsNoWorse) {
  const Tensor exact = tensor({1.0, 2.0, 3.0, 4.0}).to(float64), want = tensor({1.0, 2.0, 3.0, 4.4});
  const auto judged = [&](std::initializer_list<double> got, bool whole) {
    return no_further(tensor(got), want, exact, whole).to_vector<double>() == want.to_vector<double>();
  };
  EXPECT_TRUE(judged({1, 2, 3, 3.7}, false)) << "nearer, on the other side";
  EXPECT_FALSE(judged({1, 2, 3.3, 4}, false)) << "further in one element";
  EXPECT_TRUE(judged({1, 2, 3.3, 4}, true)) << "no element as far as PyTorch's furthest, and less far in the mean";
  EXPECT_FALSE(judged({1, 2, 3.5, 4}, true)) << "further than PyTorch's furthest";
  EXPECT_FALSE(judged({1.3, 2.3, 3.3, 4.3}, true)) << "further in the mean";
  EXPECT_FALSE(judged({1, kNan, 3, 4}, true));
  EXPECT_FALSE(no_further(tensor({1.0}), tensor({2.0}), Tensor(), true).item().to_double() == 2) << "nothing exact is known";
}

// The program in float64 has our formulas: where they are wrong, it is wrong with us.
TEST(Compare, NoWrongFormulaIsRounding) {
  const Tensor got = cos(tensor({0.5, 1.0})), want = sin(tensor({0.5, 1.0}));
  const Tensor exact = cos(tensor({0.5, 1.0}).to(float64));
  const Tolerance bound{1e-5, 1.3e-6};
  const auto judged = [&](const Tensor& x) {
    return unless_rounding(compare(x, want, bound), compare(no_further(x, want, exact, true), want, bound), Exact::ours);
  };
  ASSERT_EQ(fault(no_further(got, want, exact, true), want, bound), "") << "as near to float64 as can be";
  EXPECT_NE(judged(got).message, "");
  // Two bounds from PyTorch's, and nearer than that to the exact result.
  const Tensor off = tensor({1.0, 2.0}), near = tensor({1.0, 2.00002});
  EXPECT_NE(fault(near, off, bound), "");
  const Difference nearer = compare(no_further(near, off, near.to(float64), false), off, bound);
  const Difference d = unless_rounding(compare(near, off, bound), nearer, Exact::ours);
  EXPECT_EQ(d.message, "");
  EXPECT_GT(d.worst, 1) << "and it says how far";
}

TEST(Compare, IntegersAreExactAndFarApartWithoutOverflow) {
  const auto number = [](int64_t n) { return full({1}, Scalar(Int(n)), {.dtype = int64}); };
  const Tensor lo = number(std::numeric_limits<int64_t>::min()), hi = number(std::numeric_limits<int64_t>::max());
  const Difference d = compare(lo, hi, {1e30, 1e30});
  EXPECT_NE(d.message, "");
  EXPECT_NEAR(d.largest, 0x1p64, 1e4);
}

TEST(Compare, ModelToleranceIsOfTheFiniteSpread) {
  const Tensor want = tensor({-1.0, 1.0, kInf, -kInf, kNan});
  EXPECT_NEAR(model_tolerance(want).absolute, 1e-5 + 1e-4, 1e-9);
  EXPECT_EQ(fault(tensor({-1.00005, 1.0, kInf, -kInf, kNan}), want, model_tolerance(want)), "");
  EXPECT_NE(fault(tensor({-1.001, 1.0, kInf, -kInf, kNan}), want, model_tolerance(want)), "");
  EXPECT_NEAR(model_tolerance(tensor({3.0})).absolute, 1e-5 + 3e-4, 1e-9);
}

TEST(Compare, GradientsOnlyBoundsDoNotWidenResults) {
  const std::vector<std::string> targets = {"aten.special_log_ndtr.default"};
  EXPECT_LT(tolerance_for(float32, false, "special.log_ndtr/f32_0", targets).relative,
            tolerance_for(float32, true, "special.log_ndtr/f32_0", targets).relative);
}

TEST(Workers, CasesThatCannotRunFail) {
  std::vector<Case> cases(5);
  for (std::size_t i = 0; i < cases.size(); i++) {
    cases[i].name = "missing" + std::to_string(i);
    cases[i].program = "/nowhere/model.pt2";
    cases[i].data = {"/nowhere/case0.safetensors"};
  }
  std::size_t seen = 0;
  const auto results = check_cases(cases, {}, 2, [&](std::size_t done) { seen = done; });
  ASSERT_EQ(results.size(), cases.size());
  for (const CheckResult& r : results) {
    EXPECT_EQ(r.outcome, CheckResult::Outcome::failed);
    EXPECT_NE(r.message.find("/nowhere/case0.safetensors"), std::string::npos) << r.message;
  }
  EXPECT_EQ(seen, cases.size());
}

TEST(Suite, CasesMatchByNamePartsAndOperators) {
  Case c;
  c.name = "ops/add/f32_0";
  c.entry = "add/f32_0";
  c.targets = {"aten.add.Tensor"};
  for (const char* glob : {"ops/add/f32_0", "ops", "add", "ops/*", "f32_*", "add/*", "aten.add", "aten.add.Tensor"})
    EXPECT_TRUE(matches(c, glob)) << glob;
  for (const char* glob : {"sub", "op", "aten", "f16*"}) EXPECT_FALSE(matches(c, glob)) << glob;
}

}  // namespace
}  // namespace ingot
