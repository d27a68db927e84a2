// What tracing may cost: 1000 ops in 50 ms, and with open sizes three times that. Generous for a
// busy machine; the numbers of a quiet one come from bench/trace_bench.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "support/long_program.hpp"
#include "support/sanitized.hpp"

namespace ingot::testing {
namespace {

// The best of several, in milliseconds.
double milliseconds(const TraceOptions& options) {
  const TensorList inputs = hundred_rounds_inputs();
  double best = 1e9;
  for (int i = 0; i < 10; i++) {
    const auto start = std::chrono::steady_clock::now();
    const Traced traced = trace(hundred_rounds, inputs, options);
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    EXPECT_EQ(traced.graph.nodes().size(), 1003u);
  }
  return best;
}

TEST(TraceSpeed, AThousandOps) {
  if (kSanitized) GTEST_SKIP() << "sanitizers take their time";
  const double fakes = milliseconds({}),
               open = milliseconds({.open = {{0, 0, "s0"}, {0, 1, "s1"}, {1, 0, "s1"}, {1, 1, "s1"}, {2, 0, "s1"}}});
  EXPECT_LT(fakes, 50);
  EXPECT_LT(open, 150);
  RecordProperty("fakes_ms", std::to_string(fakes));
  RecordProperty("open_ms", std::to_string(open));
}

}  // namespace
}  // namespace ingot::testing
