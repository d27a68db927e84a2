// Programs of fixed seeds, eager against functionalized. ingot_program_fuzz runs as many as one likes.
#include <gtest/gtest.h>

#include "support/compare_functionalized.hpp"
#include "support/no_leaks.hpp"

namespace ingot::testing {
namespace {

class FunctionalizeRandom : public NoLeaks {};

TEST_F(FunctionalizeRandom, TwoThousandPrograms) {
  int agree = 0;
  for (uint64_t seed = 1; seed <= 2000; seed++) {
    const Program p = random_program(seed);
    const Comparison c = compare_functionalized(p);
    agree += c.agreement == Agreement::agrees;
    if (c.agreement != Agreement::differs) continue;
    const Program small = shrink(p, [](const Program& q) { return compare_functionalized(q).agreement == Agreement::differs; });
    ADD_FAILURE() << "seed " << seed << ": " << compare_functionalized(small).what << "\n" << to_text(small);
    break;
  }
  EXPECT_GT(agree, 1500);
}

}  // namespace
}  // namespace ingot::testing
