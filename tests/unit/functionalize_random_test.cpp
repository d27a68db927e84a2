// Programs of fixed seeds, eager against functionalized. ingot_program_fuzz runs as many as one
// likes.
#include <gtest/gtest.h>

#include <map>

#include "support/agreement_counts.hpp"
#include "support/compare_functionalized.hpp"
#include "support/no_leaks.hpp"

namespace ingot::testing {
namespace {

class FunctionalizeRandom : public NoLeaks {
 protected:
  // How many programs and gradients there are of each class. A program that differs is shown.
  static Found compare(Program (*make)(uint64_t), uint64_t count) {
    Found found;
    for (uint64_t seed = 1; seed <= count; seed++) {
      const Program p = make(seed);
      const Comparison c = compare_functionalized(p);
      found.add(c);
      if (c.agreement != Agreement::differs || HasFailure()) continue;
      const Program small = shrink(p, [](const Program& q) { return compare_functionalized(q).agreement == Agreement::differs; });
      ADD_FAILURE() << "seed " << seed << ": " << compare_functionalized(small).what << "\n" << to_text(small) << to_cpp(small);
    }
    return found;
  }
};

TEST_F(FunctionalizeRandom, TwoThousandPrograms) {
  EXPECT_EQ(compare(random_program, 2000), (Found{counts(1607, 169, 193, 24, 0, 7), gradients(3922, 1942, 53, 1253, 0, 0)}));
}
TEST_F(FunctionalizeRandom, ProgramsOfEveryFamily) {
  EXPECT_EQ(compare([](uint64_t seed) { return wide_program(seed); }, 200),
            (Found{counts(200, 0, 0, 0, 0, 0), gradients(544, 359, 0, 17, 0, 0)}));
}

}  // namespace
}  // namespace ingot::testing
