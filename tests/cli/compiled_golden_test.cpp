// Every golden case compiled: what PyTorch computed is what the library computes, on this machine
// and on the other architecture under qemu.
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

class CompiledGolden : public Cli {
 protected:
  Ran check(const std::string& suite, const std::string& options = {}) const {
    return ingot("check --suite " + golden(suite) + " --compiled -j 2 " + options);
  }
  // Every case is counted: a skip would go unseen by the status.
  static void expect_last_line(const Ran& r, const std::string& line) {
    EXPECT_TRUE(r.out.ends_with("\n" + line + "\n") || r.out == line + "\n")
        << r.out.substr(std::max<std::size_t>(r.out.size(), 2000) - 2000) << r.err;
  }
  static void expect_all_well(const Ran& r, const std::string& line) {
    EXPECT_EQ(r.status, 0) << r.out << r.err;
    expect_last_line(r, line);
  }
};

TEST_F(CompiledGolden, Models) { expect_all_well(check("models"), "21 passed, 0 failed, 0 skipped"); }

TEST_F(CompiledGolden, Wide) { expect_all_well(check("wide"), "60 passed, 0 failed, 0 skipped"); }

TEST_F(CompiledGolden, Zoo) {
  if (kSanitized) GTEST_SKIP() << "what takes long here is generated code, which no sanitizer watches";
  expect_all_well(check("zoo"), "17 passed, 0 failed, 0 skipped");
}

TEST_F(CompiledGolden, Ops) {
  // A sanitizer watches the compiler, which does the same for all cases of an op: one of each will
  // do.
  expect_all_well(check("ops", kSanitized ? "--filter '*/f32_0'" : ""),
                  kSanitized ? "449 passed, 0 failed, 0 skipped" : "2976 passed, 0 failed, 2 skipped");
}

TEST_F(CompiledGolden, MoreOps) {
  expect_all_well(check("more_ops"), "142 passed, 0 failed, 0 skipped");
  expect_all_well(check("more_ops", "--grad"), "107 passed, 0 failed, 0 skipped");
}

// Forward and backward, each compiled, of every operator that has gradients.
TEST_F(CompiledGolden, R007_GradientsOfOps) {
  if (kSanitized) return expect_all_well(check("ops", "--grad --filter '*/f32_0'"), "370 passed, 0 failed, 0 skipped");
  const Ran r = check("ops", "--grad");
  // Quotients of a zero, where PyTorch's eager formula is NaN and the one for graphs is not.
  const std::set<std::string> known = {"masked.prod/f32_16", "masked.prod/f32_24", "masked.prod/f32_32"};
  EXPECT_EQ(failures(r.out), known) << r.out;
  expect_last_line(r, text(1494 - known.size(), " passed, ", known.size(), " failed, 1 skipped"));
}

TEST_F(CompiledGolden, R007_GradientsOfTraining) { expect_all_well(check("train", "--grad"), "5 passed, 0 failed, 0 skipped"); }

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

TEST_F(CompiledGoldenElsewhere, Models) { expect_all_well(check("models", elsewhere()), "21 passed, 0 failed, 0 skipped"); }

TEST_F(CompiledGoldenElsewhere, OneCaseOfEveryOp) {
  expect_all_well(check("ops", elsewhere() + "--filter '*/f32_0'"), "449 passed, 0 failed, 0 skipped");
}

}  // namespace
}  // namespace ingot
