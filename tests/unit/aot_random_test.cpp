// Programs of fixed seeds, eager against compiled. ingot_program_fuzz aot runs as many as one likes.
#include <gtest/gtest.h>

#include "support/compare_aot.hpp"
#include "support/no_leaks.hpp"

namespace ingot::testing {
namespace {

class AotRandom : public NoLeaks {
 protected:
  void compare(AotWay way, uint64_t first, uint64_t count) {
    uint64_t agree = 0;
    for (uint64_t seed = first; seed < first + count; seed++) {
      const Program p = random_program(seed);
      const Comparison c = compare_aot(p, way);
      agree += c.agreement == Agreement::agrees;
      if (c.agreement != Agreement::differs) continue;
      const Program small = shrink(p, [&](const Program& q) { return compare_aot(q, way).agreement == Agreement::differs; });
      ADD_FAILURE() << "seed " << seed << ": " << compare_aot(small, way).what << "\n" << to_text(small);
      break;
    }
    EXPECT_GT(agree, count / 2) << "few programs were compared to the end";
  }
};

TEST_F(AotRandom, TwoThousandPrograms) { compare(AotWay::plain, 1, 2000); }
TEST_F(AotRandom, ProgramsThatWriteInTheGraph) { compare(AotWay::keep, 2001, 700); }
TEST_F(AotRandom, ProgramsCutForMemory) {
  compare(AotWay::min_cut, 3001, 700);
  compare(AotWay::budget, 4001, 700);
}

}  // namespace
}  // namespace ingot::testing
