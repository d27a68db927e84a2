// Functions compiled by Ingot and kept on disk: found again by other processes, whatever happens to
// them meanwhile.
#include "ingot/compile.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <fstream>
#include <random>

#include "aot/module.hpp"
#include "base/error.hpp"
#include "graph/text.hpp"
#include "ingot/autograd.hpp"
#include "ingot/ingot.hpp"
#include "io/cache_folder.hpp"
#include "pass/pass.hpp"
#include "support/test_folder.hpp"

namespace ingot::aot {
namespace {

namespace fs = std::filesystem;

// What a process has.
struct Process {
  enum class Libraries : uint8_t { two, one };  // of a forward and its backward
  explicit Process(const std::string& folder, int64_t most_bytes = int64_t{1} << 30, Libraries libraries = Libraries::two)
      : store(std::make_shared<GraphStore>(folder, most_bytes)) {
    options.forward = store->compiler();
    if (libraries == Libraries::one) options.together = store->pair_compiler();
    options.cache = std::make_shared<AotCache>(AotCache::Options{.folder = folder, .most_bytes = most_bytes, .artifacts = store});
  }
  std::shared_ptr<GraphStore> store;
  AotOptions options;

  // A function of x with a view of a result, a write, and a gradient; of another factor, another
  // function.
  void check(double factor = 2) const {
    const auto f = [&](const Values& in) {
      Tensor w = in[1].tensor();
      w.add_(1);
      const Tensor y = (in[0].tensor() * factor).tanh();
      return Values{y.view({-1}), (y * w).sum()};
    };
    const auto run = [&](const FlatFunction& g) {
      const Tensor x = full({3, 4}, 0.25).requires_grad_(), w = ones({3, 4});
      const Values out = g({x, w});
      (out[0].tensor().sum() + out[1].tensor()).backward();
      return std::vector<std::vector<double>>{detached(out[0].tensor()).to_vector<double>(), w.to_vector<double>(),
                                              x.grad().to_vector<double>()};
    };
    const FlatCallable compiled = aot_module_simplified(f, {}, {full({3, 4}, 0.25).requires_grad_(), ones({3, 4})}, options);
    const auto want = run(f), found = run([&](const Values& in) { return compiled(in); });
    for (std::size_t k = 0; k < want.size(); k++)
      for (std::size_t i = 0; i < want[k].size(); i++) ASSERT_NEAR(found[k][i], want[k][i], 1e-5) << k << " " << i;
  }
  CacheCounters counters() const { return options.cache->counters(); }
};

std::vector<fs::path> files(const std::string& folder, const std::string& name) {
  std::vector<fs::path> found;
  for (const auto& f : fs::recursive_directory_iterator(folder))
    if (f.path().filename() == name) found.push_back(f.path());
  std::sort(found.begin(), found.end());
  return found;
}

TEST(GraphStore, R191_AnotherProcessFindsWhatWasCompiled) {
  const testing::TestFolder folder;
  const std::string at = folder.file("cache");
  Process(at).check();
  const auto libraries = files(at, "graph.so");
  ASSERT_EQ(libraries.size(), 2u) << "a forward and a backward";
  const auto written = fs::last_write_time(libraries[0]);
  const Process second(at);
  second.check();
  EXPECT_EQ(second.counters().hit, 1);
  EXPECT_EQ(second.counters().miss, 0);
  EXPECT_EQ(fs::last_write_time(libraries[0]), written);
  // Without the entry, the graphs are still there.
  second.options.cache->clear();
  const Process third(at);
  third.check();
  EXPECT_EQ(third.counters().miss, 1);
  EXPECT_EQ(third.counters().saved, 1);
  EXPECT_EQ(fs::last_write_time(libraries[0]), written);
}

TEST(GraphStore, DamagedFilesAreCompiledAgain) {
  for (const char* name : {"graph.so", "graph.txt", "graph.plan"}) {
    for (const bool gone : {true, false}) {
      const testing::TestFolder folder;
      const std::string at = folder.file("cache");
      Process(at).check();
      const fs::path file = files(at, name)[0];
      if (gone) fs::remove(file);
      else fs::resize_file(file, fs::file_size(file) / 2);
      const Process second(at);
      second.check();
      EXPECT_EQ(second.counters().hit, 0) << name;
      const Process third(at);
      third.check();
      EXPECT_EQ(third.counters().hit, 1) << name;
    }
  }
}

// AotOptions::together: one library, one key, found when the function is compiled and not when its
// gradients are first asked for.
struct PairProcess : Process {
  explicit PairProcess(const std::string& folder, int64_t most_bytes = int64_t{1} << 30)
      : Process(folder, most_bytes, Libraries::one) {}
};

TEST(GraphStore, R191_APairIsOneLibraryThatAnotherProcessFinds) {
  const testing::TestFolder folder;
  const std::string at = folder.file("cache");
  const PairProcess first(at);
  first.check();
  EXPECT_EQ(first.counters().saved, 1);
  const auto libraries = files(at, "graph.so");
  ASSERT_EQ(libraries.size(), 1u) << "of a forward and a backward";
  EXPECT_EQ(files(at, "forward.plan").size() + files(at, "backward.plan").size(), 2u);
  const auto written = fs::last_write_time(libraries[0]);
  const PairProcess second(at);
  second.check();
  EXPECT_EQ(second.counters().hit, 1);
  EXPECT_EQ(second.counters().miss, 0);
  // Without the entry, the library is still there.
  second.options.cache->clear();
  const PairProcess third(at);
  third.check();
  EXPECT_EQ(third.counters().miss, 1);
  EXPECT_EQ(third.counters().saved, 1);
  EXPECT_EQ(files(at, "graph.so"), libraries);
  EXPECT_EQ(fs::last_write_time(libraries[0]), written);
}

TEST(GraphStore, DamagedFilesOfAPairAreCompiledAgain) {
  for (const char* name : {"graph.so", "forward.txt", "backward.txt", "backward.plan"}) {
    const testing::TestFolder folder;
    const std::string at = folder.file("cache");
    PairProcess(at).check();
    const fs::path file = files(at, name).at(0);
    fs::resize_file(file, fs::file_size(file) / 2);
    const PairProcess second(at), third(at);
    second.check();
    EXPECT_EQ(second.counters().hit, 0) << name;
    third.check();
    EXPECT_EQ(third.counters().hit, 1) << name;
  }
}

// What is compiled without a pass is another library.
TEST(GraphStore, WhatIsSkippedIsPartOfTheKey) {
  const testing::TestFolder folder;
  const std::string at = folder.file("cache");
  Process(at).check();
  const PassScope scope({.skip = {"merge_equal"}});
  const Process second(at), third(at);
  second.check();
  EXPECT_EQ(second.counters().hit, 0);
  third.check();
  EXPECT_EQ(third.counters().hit, 1);
}

TEST(GraphStore, ABackwardWithoutACompiledFormLeavesTheForward) {
  const testing::TestFolder folder;
  const std::string at = folder.file("cache");
  const auto sine = std::make_shared<const Graph>(parse_graph("def forward(self, x: \"f32[3]\"):\n"
                                                              "    sin: \"f32[3]\" = torch.ops.aten.sin.default(x)\n"
                                                              "    return (sin,)\n")),
             storage = std::make_shared<const Graph>(parse_graph("def forward(self, x: \"f32[3]\", y: \"f32[3]\"):\n"
                                                                 "    set_ = torch.ops.aten.set_.source_Tensor(x, y)\n"
                                                                 "    return (y,)\n"));
  const auto store = std::make_shared<GraphStore>(at);
  const BoxedPair made = store->pair_compiler()(
      {sine, storage, {sine->inputs()[0]->meta}, {storage->inputs()[0]->meta, storage->inputs()[1]->meta}});
  EXPECT_FALSE(made.backward);
  EXPECT_FALSE(made.why_alone.empty());
  Values given{ones({3})};
  EXPECT_EQ(made.forward(given)[0].tensor().to_vector<double>(), ones({3}).sin().to_vector<double>());
  EXPECT_EQ(files(at, "graph.so").size(), 1u);
  EXPECT_EQ(files(at, "graph.plan").size(), 1u);
}

TEST(GraphStore, AFolderThatCannotBeWrittenIsNoError) {
  const testing::TestFolder folder;
  const std::string at = folder.file("cache");
  std::ofstream(at) << "no folder";
  for (const Process& process : {Process(at), Process(PairProcess(at))}) {
    process.check();
    EXPECT_EQ(process.counters().saved, 0);
  }
}

TEST(GraphStore, TheFolderKeepsItsSize) {
  const testing::TestFolder folder;
  const std::string at = folder.file("cache");
  Process(at).check(1);
  const int64_t one = CacheFolder(at, 1).bytes(), most = 5 * one / 2;
  for (int k = 2; k < 6; k++) {
    Process(at, most).check(k);
    EXPECT_LE(CacheFolder(at, 1).bytes(), most);
  }
  const Process last(at, most);
  last.check(5);
  EXPECT_EQ(last.counters().hit, 1);
  for (int k = 2; k < 6; k++) {
    PairProcess(at, most).check(k);
    EXPECT_LE(CacheFolder(at, 1).bytes(), most);
  }
}

// What a process of the tests below does. Disabled because it is no test: they start it, each in a
// folder of its own.
TEST(GraphStore, DISABLED_Work) {
  const char* folder = std::getenv("INGOT_TEST_CACHE");
  ASSERT_TRUE(folder);
  for (int k = 1; k < 4; k++) Process(folder).check(k);
}

pid_t start_work(const std::string& folder) {
  setenv("INGOT_TEST_CACHE", folder.c_str(), 1);
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  std::vector<std::string> words{self, "--gtest_filter=GraphStore.DISABLED_Work", "--gtest_also_run_disabled_tests",
                                 "--gtest_brief=1"};
  std::vector<char*> arguments;
  for (std::string& w : words) arguments.push_back(w.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  INGOT_REQUIRE(posix_spawn(&child, self.c_str(), nullptr, nullptr, arguments.data(), environ) == 0,
                "a process of the test cannot be started");
  return child;
}
int status_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(GraphStore, ProcessesThatCompileTheSameAtATime) {
  const testing::TestFolder folder;
  const std::string at = folder.file("cache");
  const std::vector<pid_t> children{start_work(at), start_work(at), start_work(at)};
  for (const pid_t child : children) EXPECT_EQ(status_of(child), 0);
  const Process after(at);
  for (int k = 1; k < 4; k++) after.check(k);
  EXPECT_EQ(after.counters().hit, 3);
}

TEST(GraphStore, KilledProcessesLeaveNothingHalf) {
  const testing::TestFolder folder;
  const std::string at = folder.file("cache");
  std::mt19937 rng(3);
  for (int round = 0; round < 8; round++) {
    const pid_t child = start_work(at);
    usleep(20000 + rng() % 400000);
    kill(child, SIGKILL);
    status_of(child);
  }
  const Process after(at);
  for (int k = 1; k < 4; k++) after.check(k);
  EXPECT_EQ(after.counters().hit + after.counters().miss, 3);
  EXPECT_EQ(after.counters().bypass, 0);
}

}  // namespace
}  // namespace ingot::aot
