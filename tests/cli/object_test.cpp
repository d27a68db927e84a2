// ingot compile --emit=object. scripts/test_objects.sh links and runs what it makes.
#include <fstream>

#include "cli_fixture.hpp"
#include "io/json.hpp"

namespace ingot {
namespace {

class ObjectCli : public Cli {
 protected:
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  Ran compile(const std::string& output, const std::string& options) const {
    return ingot("compile " + golden("models/mlp/model.pt2") + " -o " + file(output) + " " + options);
  }
  static void expect_in(const std::string& part, const std::string& whole) {
    EXPECT_NE(whole.find(part), std::string::npos) << whole;
  }
};

TEST_F(ObjectCli, WritesAnObjectAndAHeader) {
  const Ran r = compile("my-mlp.o", "--emit=object,loop --json --target aarch64-linux-gnu");
  ASSERT_EQ(r.status, 0) << r.err;
  const JsonDocument document(r.out, "stdout");
  EXPECT_EQ(document.root().field("object").string(), file("my-mlp.o"));
  EXPECT_EQ(document.root().field("header").string(), file("my-mlp.h"));
  EXPECT_EQ(document.root().field("prefix").string(), "my_mlp");
  EXPECT_TRUE(fs::exists(file("my-mlp.loop.txt")));
  const std::string object = contents(file("my-mlp.o")), header = contents(file("my-mlp.h"));
  EXPECT_TRUE(
      object.starts_with("\x7f"
                         "ELF"));
  expect_in("/* One run of forward.\n * inputs\n *   0  x: f32[", header);
  expect_in("\nINGOT_EXPORT const char* my_mlp_last_error(void);\n", header);
  expect_in("static inline AOTIRuntimeError my_mlp_run(", header);
  EXPECT_EQ(header.find("#include \"ingot/"), std::string::npos) << "it stands alone";

  // The same bytes again, and an archive of them.
  ASSERT_EQ(compile("my-mlp.o", "--emit=object --target aarch64-linux-gnu").status, 0);
  EXPECT_EQ(contents(file("my-mlp.o")), object);
  EXPECT_EQ(contents(file("my-mlp.h")), header);
  ASSERT_EQ(compile("my-mlp.a", "--emit=object --target aarch64-linux-gnu").status, 0);
  EXPECT_TRUE(contents(file("my-mlp.a")).starts_with("!<arch>\n"));
  expect_in(object, contents(file("my-mlp.a")));
}

TEST_F(ObjectCli, RefusesWhatCannotBe) {
  struct Case {
    std::string options, words;
  };
  for (const auto& [options, words] : {Case{"--emit=object --weights append", "an object file cannot have its weights behind it"},
                                       Case{"--emit=object --prefix 2d", "'2d' cannot begin the names of C functions"},
                                       Case{"--emit=object --prefix a-b", "'a-b' cannot begin"},
                                       Case{"--emit=object --prefix ingot", "'ingot' begins the names of Ingot's own"},
                                       Case{"--prefix mlp", "--prefix: expected --emit=object"}}) {
    const Ran r = compile("m.o", options);
    EXPECT_EQ(r.status, 1) << options;
    expect_in(words, r.err);
    EXPECT_FALSE(fs::exists(file("m.o"))) << options;
    EXPECT_FALSE(fs::exists(file("m.h"))) << options;
  }
  EXPECT_EQ(ingot("compile " + golden("models/mlp/model.pt2") + " -o - --emit=object").status, 1);
}

TEST_F(ObjectCli, ReplacesNoFileByItsHeader) {
  const Ran same = compile("x.h", "--emit=object");
  EXPECT_EQ(same.status, 1);
  expect_in(file("x.h") + " is what the header of the object file is called, too; name the object otherwise, as " + file("x.o"),
            same.err);
  EXPECT_FALSE(fs::exists(file("x.h")));

  const std::string by_hand = "/* The model of a program. */\nint main(void);\n";
  std::ofstream(file("main.h")) << by_hand;
  const Ran other = compile("main.o", "--emit=object");
  EXPECT_EQ(other.status, 1);
  expect_in("cannot write " + file("main.h") + ", the header of " + file("main.o") + ": expected none or one that Ingot wrote",
            other.err);
  EXPECT_EQ(contents(file("main.h")), by_hand);
  EXPECT_FALSE(fs::exists(file("main.o")));
}

}  // namespace
}  // namespace ingot
