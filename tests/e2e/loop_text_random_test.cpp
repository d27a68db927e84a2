// parse(print(p)) == p, for loop programs nobody thought of: what random programs are after every
// stage that makes one.
#include <gtest/gtest.h>

#include <map>

#include "base/error.hpp"
#include "compiler/pipeline.hpp"
#include "ingot/ingot.hpp"
#include "loop/text.hpp"
#include "pass/pass.hpp"
#include "support/random_program.hpp"
#include "support/sanitized.hpp"
#include "support/test_folder.hpp"

namespace ingot::testing {
namespace {

struct Enough {};  // the rest of a compilation would make code

TEST(LoopTextRandom, TenThousandReadBack) {
  ASSERT_TRUE(verifies()) << "the stages compare each program with what its text says";
  const int wanted = kSanitized ? 500 : 10000;
  const TestFolder folder;
  std::map<std::string_view, int> read_back;
  int all = 0, functions = 0, refused = 0;
  CompileOptions options;
  options.after = [&](const StageDone& done) {
    if (done.name != "lower" && done.name != "schedule" && done.name != "fold" && done.name != "memory") return;
    const std::string text = done.text();
    if (!text.starts_with("nothing is folded")) {
      ASSERT_EQ(to_text(loop::parse_program(text)), text);
      read_back[done.name]++;
      all++;
    }
    if (done.name == "memory") throw Enough();
  };
  for (uint64_t seed = 1; all < wanted; seed++, functions++) {
    const Program p = wide_program(seed, {.open = false, .writes = false});
    try {
      compile([&p](const TensorList& in) { return run(p, in); }, make_inputs(p, {.gradients = false}).inputs, {},
              folder.file("program.so"), options);
      FAIL() << "it was compiled to the end";
    } catch (const Enough&) {
    } catch (const UserError&) {
      refused++;
    }
  }
  EXPECT_EQ(read_back["lower"], functions - refused);
  EXPECT_EQ(read_back["schedule"], functions - refused);
  EXPECT_EQ(read_back["memory"], functions - refused);
  if (!kSanitized) {
    EXPECT_EQ(functions, 3588);
    EXPECT_EQ(refused, 254);  // they write what an input looks like, or ask the data
  }
}

}  // namespace
}  // namespace ingot::testing
