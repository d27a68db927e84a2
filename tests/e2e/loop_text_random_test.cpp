// parse(print(p)) == p, for loop programs nobody thought of: what random programs are after every
// stage that makes one, with sizes that are open and with writes among them.
#include <gtest/gtest.h>

#include <map>

#include "base/error.hpp"
#include "compiled_programs/open_sizes.hpp"
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

// A quarter of the programs: half of them have open sizes, and half of either half writes.
struct Quarter {
  bool open, writes;
  int programs = 0, refused = 0;
  std::map<std::string_view, int> read_back = {};  // by stage
  int with_symbols = 0;                            // of those that are lowered
};

TEST(LoopTextRandom, TenThousandReadBack) {
  ASSERT_TRUE(verifies()) << "the stages compare each program with what its text says";
  const int wanted = kSanitized ? 500 : 10000;
  const TestFolder folder;
  Quarter quarters[] = {{false, false}, {true, false}, {false, true}, {true, true}};
  Quarter* now = nullptr;  // that of the program that is compiled
  int all = 0;
  CompileOptions options;
  options.after = [&](const StageDone& done) {
    if (done.name != "lower" && done.name != "schedule" && done.name != "fold" && done.name != "memory") return;
    const std::string text = done.text();
    if (!text.starts_with("nothing is folded")) {
      const loop::Program parsed = loop::parse_program(text);
      ASSERT_EQ(to_text(parsed), text);
      now->read_back[done.name]++;
      if (done.name == "lower") now->with_symbols += !parsed.symbols.empty();
      all++;
    }
    if (done.name == "memory") throw Enough();
  };
  for (uint64_t seed = 1; all < wanted; seed++) {
    now = &quarters[seed / 16 % 4];  // the lower bits of a seed choose between kinds of open sizes
    now->programs++;
    const Program p = wide_program(seed, {.open = now->open, .writes = now->writes});
    try {
      compile([&p](const TensorList& in) { return run(p, in); }, make_inputs(p, {.gradients = false}).inputs, open_sizes(p),
              folder.file("program.so"), options);
      FAIL() << "it was compiled to the end";
    } catch (const Enough&) {
    } catch (const UserError&) {
      now->refused++;
    }
  }
  for (Quarter& q : quarters) {
    SCOPED_TRACE(text(q.open ? "open sizes" : "fixed sizes", q.writes ? ", with writes" : ""));
    const int compiled = q.programs - q.refused;
    EXPECT_EQ(q.read_back["lower"], compiled);
    EXPECT_EQ(q.read_back["schedule"], compiled);
    EXPECT_EQ(q.read_back["memory"], compiled);
    // They change what an input looks like, ask the data, or ask what an open size is.
    EXPECT_LT(q.refused, q.programs / 5);
    // A random signature need not have an open size.
    if (q.open) {
      EXPECT_GT(q.with_symbols, compiled / 4);
    }
  }
}

}  // namespace
}  // namespace ingot::testing
