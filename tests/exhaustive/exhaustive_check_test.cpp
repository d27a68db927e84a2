// The check of the exhaustive suites finds what it is there for: functions that do something else
// when they are traced.
#include <gtest/gtest.h>

#include "exhaustive/exhaustive_check.hpp"

namespace ingot::aot {
namespace {

Tensor point() { return (arange(3).to(float32) + 1).requires_grad_(); }
CheckResult check(const std::function<Tensor(const Tensor&)>& f) {
  const ExhaustiveSample sample{.f = [f](const TensorList& in) { return TensorList{f(in[0])}; },
                                .arguments = [] { return TensorList{point()}; }};
  return ExhaustiveCheck(sample, static_min_cut()).run();
}
void expect_fails(const CheckResult& r, const std::string& start, const std::string& end) {
  EXPECT_EQ(r.outcome, CheckResult::Outcome::failed);
  EXPECT_TRUE(r.message.starts_with(start) && r.message.ends_with(end)) << r.message;
}

TEST(ExhaustiveCheck, X02_RandomNumbersAreTheSame) {
  EXPECT_EQ(check([](const Tensor& x) { return x * rand({3}); }).message, "");
}
TEST(ExhaustiveCheck, X03_WhatHasNoGradientMustBeRefused) {
  const auto without_gradient = [](const Tensor& x) {
    return custom_function(
        "NoGradient", {x}, [](FunctionContext&, const TensorList& in) { return TensorList{in[0] * 2}; },
        [](FunctionContext&, const TensorList&) { return TensorList{Tensor()}; })[0];
  };
  const CheckResult r = check(without_gradient);
  EXPECT_EQ(r.message, "");
  EXPECT_EQ(r.partly, "X03: eager has no gradient");
  expect_fails(check([&](const Tensor& x) { return is_tracing() ? x * 2 : without_gradient(x); }), "X03: ", "its error is: none");
}
TEST(ExhaustiveCheck, X04_OutputsAndGradientsAreCompared) {
  expect_fails(check([](const Tensor& x) { return x * (is_tracing() ? 3 : 2); }),
               "Outputs of the operator are different in eager-mode PyTorch vs AOTAutograd: number 0: ", "");
  expect_fails(check([](const Tensor& x) { return x + (is_tracing() ? x.detach() : x); }),
               "Gradients of the operator are different in eager-mode PyTorch vs AOTAutograd: number 0: ", "");
}
TEST(ExhaustiveCheck, X05_DataThatTheCompiledFunctionKeepsIsFound) {
  const Tensor first = point().detach();
  expect_fails(check([&](const Tensor& x) { return x * (is_tracing() ? first : x.detach()); }), "Outputs of the operator",
               "(X05, on random data)");
}
TEST(ExhaustiveCheck, X06_WhatEagerCannotDifferentiateIsSkipped) {
  const CheckResult r = check([](const Tensor& x) { return x > 0; });
  EXPECT_EQ(r.outcome, CheckResult::Outcome::skipped);
  EXPECT_TRUE(r.message.starts_with("X06: ")) << r.message;
}

}  // namespace
}  // namespace ingot::aot
