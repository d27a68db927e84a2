// The eager archive as a linker sees it: every op is there, for both targets; a library gets what
// its calls need and no more.
#include <array>
#include <cstdio>

#include "base/error.hpp"
#include "eager/library.hpp"

namespace ingot::testing {
namespace {

constexpr const char* kTargets[] = {"x86_64-linux-gnu", "aarch64-linux-gnu"};

std::string output_of(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  std::array<char, 4096> part;
  while (std::size_t n = fread(part.data(), 1, part.size(), pipe)) output.append(part.data(), n);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return output;
}

// What the file says it needs, one a line; then what it exports.
std::string needs_of(const std::string& library) {
  return output_of("readelf -d " + library + " | sed -n 's/.*(NEEDED).*\\[\\(.*\\)\\]/\\1/p' | sort");
}
std::string exports_of(const std::string& library) {
  return output_of("readelf -W --dyn-syms " + library +
                   " | awk '$4 != \"NOTYPE\" && $7 != \"UND\" && NF == 8 && $8 != \"Name\" {print $8}' | sort");
}
constexpr const char* kHarnessExports = "harness_call\nharness_error\nharness_free\nharness_new\nharness_offset\n";

TEST(EagerArchive, HasEveryOpForBothTargets) {
  std::vector<std::string> names;
  for (const Op* o : all_ops())
    if (o->form() != Form::higher_order) names.push_back(o->name);  // they take functions, which no text names
  ASSERT_GT(names.size(), 1000u);
  const TestFolder folder;
  for (const char* target : kTargets) {
    const std::string path = folder.file(text("all_", target, ".so"));
    link_eager_library(names, parse_target(target), path);
    EXPECT_EQ(needs_of(path), "libc.so.6\nlibm.so.6\n") << target;
    EXPECT_EQ(exports_of(path), kHarnessExports) << target;
  }
}

// The budgets are those of g++'s code. Clang's, at its smallest, is a twentieth larger on x86_64.
#ifdef __clang__
constexpr std::uintmax_t kBytesOfKilobyte = 1024 + 1024 / 20;
#else
constexpr std::uintmax_t kBytesOfKilobyte = 1024;
#endif

TEST(EagerArchive, GivesALibraryWhatItsCallsNeed) {
  struct Budget {
    std::vector<std::string> ops;
    std::uintmax_t kilobytes;
  };
  const TestFolder folder;
  for (const Budget& b :
       {Budget{{"sort"}, 420}, Budget{{"_linalg_svd"}, 480}, Budget{{"randn"}, 420}, Budget{{"convolution"}, 520}}) {
    for (const char* target : kTargets) {
      const std::string path = folder.file(text(b.ops[0], "_", target, ".so"));
      link_eager_library(b.ops, parse_target(target), path);
      EXPECT_EQ(needs_of(path).find("libstdc++"), std::string::npos);
      EXPECT_EQ(exports_of(path), kHarnessExports) << target;
      EXPECT_LE(std::filesystem::file_size(path), b.kilobytes * kBytesOfKilobyte) << path;
    }
  }
}

TEST(EagerArchive, IsNotLinkedWhereNothingCallsIt) {
  const TestFolder folder;
  const Object object = emit_text("plain", "define i32 @answer() {\n  ret i32 42\n}\n", native_target());
  link_library(std::span(&object, 1), native_target(), folder.file("plain.so"));
  EXPECT_LT(std::filesystem::file_size(folder.file("plain.so")), 8192u);
}

TEST(EagerArchive, NamesAnOpThatItLacks) {
  const TestFolder folder;
  std::string message;
  try {
    link_eager_library({"no_such_op"}, native_target(), folder.file("missing.so"));
  } catch (const UserError& e) {
    message = e.what();
  }
  EXPECT_NE(message.find("undefined hidden symbol"), std::string::npos) << message;
}

// The in-place ops of src/eager/variants.cpp have the schemas of ATen's table.
TEST(EagerArchive, VariantsHaveTheSchemasOfTheTable) {
  const std::string source = bytes_of_file(INGOT_SOURCE_DIR "/src/eager/variants.cpp");
  const std::string start = "\nINGOT_INPLACE(\"";
  int found = 0;
  for (std::size_t at = source.find(start); at != std::string::npos; at = source.find(start, at + 1)) {
    std::vector<std::string> strings;
    const std::string line = source.substr(at + 1, source.find('\n', at + 1) - at - 1);
    for (std::size_t q = line.find('"'); q != std::string::npos; q = line.find('"', q + 1)) {
      const std::size_t end = line.find('"', q + 1);
      strings.push_back(line.substr(q + 1, end - q - 1));
      q = end;
    }
    ASSERT_EQ(strings.size(), 3u) << line;
    const Op& op = ingot::op(strings[0]);
    EXPECT_EQ(to_text(op.schema), text("aten::", strings[0], "(Tensor(a!) self", strings[2], ") -> Tensor(a!)"));
    EXPECT_EQ(op.functional, &ingot::op(strings[1]));
    found++;
  }
  EXPECT_GE(found, 8);
}

}  // namespace
}  // namespace ingot::testing
