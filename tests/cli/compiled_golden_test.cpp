// Every golden case compiled: what PyTorch computed is what the library computes, on this machine and on the other
// architecture under qemu.
#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "cli_fixture.hpp"
#include "support/sanitized.hpp"

namespace ingot {
namespace {

// The names after "FAILED" in the listing of a suite.
std::set<std::string> failures(const std::string& listing) {
  std::set<std::string> names;
  std::istringstream lines(listing);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word, name;
    if (words >> word >> name && word == "FAILED") names.insert(name.substr(0, name.find(':')));
  }
  return names;
}

// The number before this word in the last line of a suite's listing: "5 passed, 0 failed, 0 skipped".
int counted(const std::string& listing, const std::string& word) {
  const std::size_t line = listing.rfind('\n', listing.size() - 2) + 1, end = listing.find(" " + word, line);
  EXPECT_NE(end, std::string::npos) << listing;
  if (end == std::string::npos) return 0;
  const std::size_t start = listing.find_last_not_of("0123456789", end - 1) + 1;
  return std::atoi(listing.substr(start, end - start).c_str());
}

class CompiledGolden : public Cli {
 protected:
  Ran check(const std::string& suite, const std::string& options = {}) const {
    return ingot("check --suite " + golden(suite) + " --compiled -j 2 " + options);
  }
};

TEST_F(CompiledGolden, Models) {
  const Ran r = check("models");
  EXPECT_EQ(r.status, 0) << r.out << r.err;
  EXPECT_TRUE(r.out.ends_with("21 passed, 0 failed, 0 skipped\n")) << r.out;
}

TEST_F(CompiledGolden, Wide) {
  const Ran r = check("wide");
  EXPECT_EQ(r.status, 0) << r.out << r.err;
}

TEST_F(CompiledGolden, Zoo) {
  if (kSanitized) GTEST_SKIP() << "what takes long here is generated code, which no sanitizer watches";
  const Ran r = check("zoo");
  EXPECT_EQ(r.status, 0) << r.out << r.err;
  EXPECT_TRUE(r.out.ends_with("17 passed, 0 failed, 0 skipped\n")) << r.out;
}

// Every case is counted.
TEST_F(CompiledGolden, Ops) {
  // A sanitizer watches the compiler, which does the same for all cases of an op: one of each will do.
  const Ran r = check("ops", kSanitized ? "--filter '*/f32_0'" : "");
  EXPECT_EQ(r.status, 0) << r.out << r.err;
  EXPECT_TRUE(r.out.ends_with(kSanitized ? "449 passed, 0 failed, 0 skipped\n" : "2976 passed, 0 failed, 2 skipped\n"))
      << r.out.substr(std::max<std::size_t>(r.out.size(), 200) - 200);
}

TEST_F(CompiledGolden, MoreOps) {
  for (const char* options : {"", "--grad"}) {
    const Ran r = check("more_ops", options);
    EXPECT_EQ(r.status, 0) << options << r.out << r.err;
  }
}

// Forward and backward, each compiled, of every operator that has gradients.
TEST_F(CompiledGolden, R007_GradientsOfOps) {
  const Ran r = check("ops", kSanitized ? "--grad --filter '*/f32_0'" : "--grad");
  // Quotients of a zero, where PyTorch's eager formula is NaN and the one for graphs is not.
  const std::set<std::string> known = {"masked.prod/f32_16", "masked.prod/f32_24", "masked.prod/f32_32"};
  if (!kSanitized) {
    EXPECT_EQ(failures(r.out), known) << r.out;
    EXPECT_TRUE(r.out.ends_with(text(1494 - known.size(), " passed, ", known.size(), " failed, 1 skipped\n")))
        << r.out.substr(std::max<std::size_t>(r.out.size(), 200) - 200);
    return;
  }
  for (const std::string& name : failures(r.out)) EXPECT_TRUE(known.contains(name)) << r.out;
  const int passed = counted(r.out, "passed"), failed = counted(r.out, "failed");
  EXPECT_GE(passed, 366) << r.out;
  EXPECT_GE(passed, 0.95 * (passed + failed));
}

TEST_F(CompiledGolden, R007_GradientsOfTraining) {
  const Ran r = check("train", "--grad");
  EXPECT_EQ(r.status, 0) << r.out << r.err;
  EXPECT_TRUE(r.out.ends_with("5 passed, 0 failed, 0 skipped\n")) << r.out;
}

class CompiledGoldenElsewhere : public CompiledGolden {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "qemu runs what no sanitizer watches";
    if (!fs::exists(INGOT_FOREIGN_RUNNER)) GTEST_SKIP() << INGOT_FOREIGN_RUNNER << " is not built: no cross compiler";
    if (std::system(("command -v qemu-" + arch() + " >/dev/null").c_str()) != 0) GTEST_SKIP() << "no qemu-" << arch();
  }
  static std::string arch() {
#ifdef __x86_64__
    return "aarch64";
#else
    return "x86_64";
#endif
  }
  static std::string elsewhere() {
    return "--target " + arch() + "-linux-gnu --runner 'qemu-" + arch() + " -L /usr/" + arch() +
           "-linux-gnu " INGOT_FOREIGN_RUNNER "' ";
  }
};

TEST_F(CompiledGoldenElsewhere, Models) {
  const Ran r = check("models", elsewhere());
  EXPECT_EQ(r.status, 0) << r.out << r.err;
  EXPECT_TRUE(r.out.ends_with("21 passed, 0 failed, 0 skipped\n")) << r.out;
}

TEST_F(CompiledGoldenElsewhere, OneCaseOfEveryOp) {
  const Ran r = check("ops", elsewhere() + "--filter '*/f32_0'");
  EXPECT_TRUE(failures(r.out).empty()) << r.out;
  EXPECT_NE(r.out.find("449 passed"), std::string::npos) << r.out.substr(0, 2000) << r.err;
}

}  // namespace
}  // namespace ingot
