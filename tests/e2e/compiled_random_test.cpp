// Random programs as machine code, for open sizes and with gradients, against eager. `ingot_program_fuzz` runs as many as one likes.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "compiled_programs/compare_compiled.hpp"
#include "compiler/compiled_program.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "support/agreement_counts.hpp"
#include "support/test_folder.hpp"

namespace ingot::testing {
namespace {

int sum_of(const Counts& counts) {
  int sum = 0;
  for (const auto& [name, n] : counts) sum += n;
  return sum;
}

TEST(CompiledRandom, ProgramsEqualEager) {
  Found found;
  Counts settings;
  int all_settings = 0;
  for (uint64_t seed = 1; seed <= 100; seed++) {
    const Program p = wide_program(seed, {.open = true, .writes = seed % 2 == 0});
    const CompiledComparison c = compare_compiled(p);
    found.add(c);
    for (const auto& [kind, n] : c.settings) settings[name_of(kind)] += n;
    all_settings += static_cast<int>(p.settings.size());
    ASSERT_NE(c.agreement, Agreement::differs)
        << "seed " << seed << ": " << c.what << "\n"
        << to_text(shrink(p, [](const Program& q) { return compare_compiled(q).agreement == Agreement::differs; }));
  }
  EXPECT_EQ(found.programs, (Counts{{name_of(Agreement::agrees), 74},
                                    {name_of(Agreement::agrees_at_some_sizes), 18},
                                    {name_of(Agreement::refused_sizes), 5},  // unbind and split, say, tell how many results there are
                                    {name_of(Agreement::refused_looks), 3}}));
  EXPECT_EQ(settings, (Counts{{name_of(SettingAgreement::agree), 333},
                              {name_of(SettingAgreement::both_refuse), 7},
                              // squeeze, view and broadcasting ask whether an open size is 0 or 1
                              {name_of(SettingAgreement::other_sizes), 35},
                              {name_of(SettingAgreement::refused), 11}}));
  EXPECT_EQ(sum_of(settings), all_settings);
}

TEST(CompiledRandom, ProgramsWithGradientsEqualEager) {
  Found found;
  for (uint64_t seed = 1; seed <= 100; seed++) {
    const Program p = wide_program(seed);
    const Comparison c = compare_compiled_with_gradients(p);
    found.add(c);
    ASSERT_NE(c.agreement, Agreement::differs)
        << "seed " << seed << ": " << c.what << "\n"
        << to_text(
               shrink(p, [](const Program& q) { return compare_compiled_with_gradients(q).agreement == Agreement::differs; }));
  }
  EXPECT_EQ(found, (Found{{{name_of(Agreement::agrees), 89},
                           {name_of(Agreement::refused_backward), 10},
                           {name_of(Agreement::refused_wrappers), 1}},
                          gradients(236, 146, 0, 0, 0)}));
}

TEST(CompiledRandom, OpenProgramsWithGradientsEqualEager) {
  Found found;
  Counts settings;
  int all_settings = 0;
  for (uint64_t seed = 1; seed <= 50; seed++) {
    const Program p = wide_program(seed, {.open = true, .writes = seed % 2 == 0});
    const CompiledComparison c = compare_open_with_gradients(p);
    found.add(c);
    for (const auto& [kind, n] : c.settings) settings[name_of(kind)] += n;
    all_settings += static_cast<int>(p.settings.size());
    ASSERT_NE(c.agreement, Agreement::differs) << "seed " << seed << ": " << c.what << "\n" << to_text(p);
  }
  EXPECT_EQ(found, (Found{{{name_of(Agreement::agrees), 50}}, gradients(519, 308, 0, 0, 0)}));
  EXPECT_EQ(settings, (Counts{{name_of(SettingAgreement::agree), 186},
                              {name_of(SettingAgreement::both_refuse), 6},
                              {name_of(SettingAgreement::unread_refused), 1}}));
  EXPECT_EQ(sum_of(settings), all_settings);
}

// Differences that rounding explains: before digamma near a pole, in what was written in place before a sine, and in what is divided by
// a sum that cancels, to nothing or nearly.
TEST(CompiledRandom, RoundingIsMeasuredNotGuessed) {
  EXPECT_EQ(compare_compiled(wide_program(900200, {.open = true})).what, "");
  EXPECT_EQ(compare_compiled_with_gradients(wide_program(4201008)).what, "");
  EXPECT_EQ(compare_open_with_gradients(wide_program(1635000923, {.open = true, .writes = false})).what, "");
}

// Found by ingot_program_fuzz: the strides of what a backward is given have an open size that its sizes do not have.
TEST(CompiledRandom, OpenSizesOfStridesAloneAreKnown) {
  EXPECT_EQ(compare_open_with_gradients(wide_program(1635002234, {.open = true})).what, "");
}

// Found by ingot_program_fuzz: the compiler crashed.
TEST(CompiledRandom, InPlaceViewsOfInputsAreRefused) {
  const TestFolder folder;
  const TensorFunction f = [](const TensorList& in) {
    aten_value<"unsqueeze_">(in[1], 0);
    return TensorList{in[0] + 1};
  };
  try {
    aot_compile(f, {ones({2, 3}), ones({2, 3})}, folder.file("program.so"));
    FAIL() << "it compiled";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("Found an input that received a metadata mutation"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace ingot::testing
