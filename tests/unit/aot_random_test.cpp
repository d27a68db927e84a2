// Programs of fixed seeds, eager against compiled. ingot_program_fuzz aot runs as many as one
// likes.
#include <gtest/gtest.h>

#include <map>

#include "support/agreement_counts.hpp"
#include "support/compare_aot.hpp"
#include "support/no_leaks.hpp"

namespace ingot::testing {
namespace {

// The same of programs of every family, which may be refused for other reasons, too.
Counts with(Counts c, int leaf, int operand, int wrappers) {
  if (leaf > 0) c[name_of(Agreement::refused_leaf)] = leaf;
  if (operand > 0) c[name_of(Agreement::refused_operand)] = operand;
  if (wrappers > 0) c[name_of(Agreement::refused_wrappers)] = wrappers;
  return c;
}

class AotRandom : public NoLeaks {
 protected:
  // How many programs and gradients there are of each class. A program that differs is shown.
  static Found compare(Program (*make)(uint64_t), AotWay way, uint64_t first, uint64_t count) {
    Found found;
    for (uint64_t seed = first; seed < first + count; seed++) {
      const Program p = make(seed);
      const Comparison c = compare_aot(p, way);
      found.add(c);
      if (c.agreement != Agreement::differs || HasFailure()) continue;
      const Program small = shrink(p, [&](const Program& q) { return compare_aot(q, way).agreement == Agreement::differs; });
      ADD_FAILURE() << "seed " << seed << ": " << compare_aot(small, way).what << "\n" << to_text(small) << to_cpp(small);
    }
    return found;
  }
};

Program wide(uint64_t seed) { return wide_program(seed); }

TEST_F(AotRandom, TwoThousandPrograms) {
  EXPECT_EQ(compare(random_program, AotWay::plain, 1, 2000),
            (Found{counts(1209, 169, 178, 50, 394, 0), gradients(3742, 1579, 57, 0, 0, 0)}));
}
TEST_F(AotRandom, ProgramsThatWriteInTheGraph) {
  EXPECT_EQ(compare(random_program, AotWay::keep, 2001, 700),
            (Found{counts(471, 49, 64, 13, 103, 0), gradients(1525, 616, 9, 0, 0, 0)}));
}
TEST_F(AotRandom, ProgramsCutForMemory) {
  EXPECT_EQ(compare(random_program, AotWay::min_cut, 3001, 700),
            (Found{counts(445, 51, 53, 20, 131, 0), gradients(1519, 476, 19, 0, 0, 0)}));
  EXPECT_EQ(compare(random_program, AotWay::budget, 4001, 700),
            (Found{counts(445, 54, 57, 13, 131, 0), gradients(1378, 570, 22, 0, 0, 0)}));
}
// An out= into a transposed clone changes its strides; the views of it that are results are taken
// again of a base that lies as they need it.
TEST_F(AotRandom, ABaseThatOutWroteLiesAsItsViewsNeedIt) {
  for (const AotWay way : {AotWay::plain, AotWay::keep, AotWay::min_cut, AotWay::budget})
    EXPECT_EQ(compare(random_program, way, 777006951, 1), (Found{counts(1, 0, 0, 0, 0, 0), gradients(0, 5, 0, 0, 0, 0)}));
}

// Recorded, control flow saves all its operands; eagerly the branch that runs may save others than
// the one that is written later.
TEST_F(AotRandom, OperandsOfControlFlowThatWereWritten) {
  const auto of_written = [](int written) {
    Program p;
    p.bases = {{.sizes = {4}, .requires_grad = true}};
    p.inputs = {{0, {}}};
    p.body = {Step::of("neg", {0}), Step::of("mul.Scalar", {0}, {2}), Step::of("mul.Scalar", {0}, {3}),
              Step::of("cond", {1, 2, 3}),  // #2 - cos(#3)
              Step::of("fill_.Scalar", {written}, {1})};
    p.outputs = {4};
    return name_of(compare_aot(p, AotWay::plain).agreement);
  };
  EXPECT_EQ(of_written(0), name_of(Agreement::agrees));
  EXPECT_EQ(of_written(1), name_of(Agreement::agrees));
  EXPECT_EQ(of_written(2), name_of(Agreement::refused_operand));
  EXPECT_EQ(of_written(3), name_of(Agreement::refused_backward));
}

Program layers(uint64_t seed) { return wide_program(seed, {.layers = true}); }
// Found by ingot_program_fuzz: the operand has the history of a write before; it is an input that
// gets other sizes in place; it is a view of what is written.
TEST_F(AotRandom, OperandsOfControlFlowWithHistoriesOfTheirOwn) {
  EXPECT_EQ(name_of(compare_aot(layers(4310007035), AotWay::min_cut).agreement), name_of(Agreement::refused_operand));
  for (const uint64_t seed : {4390024312, 4430033102, 4430041511})
    EXPECT_EQ(name_of(compare_aot(wide_program(seed), AotWay::plain).agreement), name_of(Agreement::refused_operand)) << seed;
}
TEST_F(AotRandom, ProgramsOfLayers) {
  EXPECT_EQ(compare(layers, AotWay::min_cut, 1, 200),
            (Found{with(counts(191, 0, 0, 0, 8, 0), 1, 0, 0), gradients(1554, 813, 0, 0, 0, 0)}));
}

TEST_F(AotRandom, ProgramsOfEveryFamily) {
  EXPECT_EQ(compare(wide, AotWay::plain, 1, 500),
            (Found{with(counts(471, 0, 0, 0, 22, 0), 0, 1, 6), gradients(1282, 854, 0, 0, 0, 0)}));
}
TEST_F(AotRandom, ProgramsOfEveryFamilyCutForMemory) {
  EXPECT_EQ(compare(wide, AotWay::min_cut, 2001, 250),
            (Found{with(counts(239, 1, 0, 0, 8, 0), 1, 0, 1), gradients(656, 428, 1, 0, 0, 0)}));
  EXPECT_EQ(compare(wide, AotWay::budget, 3001, 250),
            (Found{with(counts(236, 0, 0, 0, 11, 0), 0, 0, 3), gradients(669, 423, 4, 0, 0, 0)}));
}

}  // namespace
}  // namespace ingot::testing
