#include "io/cache_folder.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <fstream>
#include <random>
#include <thread>

#include "base/error.hpp"
#include "base/sha256.hpp"
#include "support/test_folder.hpp"

namespace ingot {
namespace {

namespace fs = std::filesystem;

void write(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }
std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Two files that belong together: a thing is whole if both are there and agree.
void put(const CacheFolder& cache, const std::string& name, const std::string& bytes) {
  cache.put(name, [&](const std::string& folder) {
    write(folder + "/bytes", bytes);
    write(folder + "/digest", sha256(bytes));
  });
}
bool is_whole(const std::string& thing) { return sha256(read(thing + "/bytes")) == read(thing + "/digest"); }

TEST(CacheFolder, HasWhatWasPut) {
  const testing::TestFolder folder;
  const std::string at = folder.file("cache");
  const CacheFolder cache(at, 1 << 20);
  EXPECT_FALSE(cache.find("graphs/a"));
  EXPECT_FALSE(fs::exists(at)) << "looking makes nothing";
  put(cache, "graphs/a", "one");
  put(cache, "graphs/a", "two");
  ASSERT_TRUE(cache.find("graphs/a"));
  EXPECT_EQ(read(*cache.find("graphs/a") + "/bytes"), "one") << "what is there stays";
  cache.remove("graphs/a");
  EXPECT_FALSE(cache.find("graphs/a"));
  put(cache, "graphs/a", "one");
  put(cache, "entries/a", "one");
  cache.clear("graphs");
  EXPECT_FALSE(cache.find("graphs/a"));
  EXPECT_TRUE(cache.find("entries/a"));
}

TEST(CacheFolder, AFailureLeavesNothing) {
  const testing::TestFolder folder;
  const std::string at = folder.file("cache");
  const CacheFolder cache(at, 1 << 20);
  EXPECT_THROW(cache.put("graphs/a",
                         [](const std::string& folder) {
                           write(folder + "/half", "half");
                           throw UserError("no more");
                         }),
               UserError);
  EXPECT_FALSE(cache.find("graphs/a"));
  EXPECT_TRUE(fs::is_empty(at + "/pending"));
  write(at + "/file", "");
  EXPECT_THROW(put(CacheFolder(at + "/file", 1), "graphs/a", "one"), UserError);
}

TEST(CacheFolder, WhatWasNotUsedForLongGoes) {
  const testing::TestFolder folder;
  const std::string at = folder.file("cache");
  const CacheFolder cache(at, 4 * 1064);  // a thing: 1000 bytes and a digest
  const auto earlier = [&](const std::string& name, int minutes) {
    fs::last_write_time(at + "/" + name, fs::file_time_type::clock::now() - std::chrono::minutes(minutes));
  };
  for (int k = 0; k < 4; k++) {
    put(cache, "graphs/" + std::to_string(k), std::string(1000, 'x'));
    earlier("graphs/" + std::to_string(k), 10 - k);
  }
  EXPECT_TRUE(cache.find("graphs/0"));  // used now
  put(cache, "graphs/4", std::string(1000, 'x'));
  EXPECT_LE(cache.bytes(), 4 * 1064);
  EXPECT_TRUE(cache.find("graphs/0"));
  EXPECT_FALSE(cache.find("graphs/1"));
  EXPECT_TRUE(cache.find("graphs/4"));
  put(cache, "graphs/5", std::string(10000, 'x'));
  EXPECT_TRUE(cache.find("graphs/5")) << "what was put last stays, however large";
  EXPECT_FALSE(cache.find("graphs/4"));
}

TEST(CacheFolder, WhatAKilledProcessLeftGoesWithTime) {
  const testing::TestFolder folder;
  const std::string at = folder.file("cache");
  const CacheFolder cache(at, 1 << 20);
  fs::create_directories(at + "/pending/1-2-3");
  put(cache, "graphs/a", "one");
  EXPECT_TRUE(fs::exists(at + "/pending/1-2-3")) << "somebody may be at it";
  fs::last_write_time(at + "/pending/1-2-3", fs::file_time_type::clock::now() - std::chrono::hours(2));
  put(cache, "graphs/b", "two");
  EXPECT_FALSE(fs::exists(at + "/pending/1-2-3"));
}

// Puts and reads at random until it is killed, or for so many rounds. False where something was
// half there.
bool work(const CacheFolder& cache, unsigned seed, int rounds) {
  std::mt19937 rng(seed);
  for (int k = 0; k < rounds; k++) {
    const unsigned which = rng() % 12;
    const std::string name = "graphs/" + std::to_string(which), bytes((which + 1) * 400, static_cast<char>('a' + which));
    if (const std::optional<std::string> thing = cache.find(name)) {
      // Gone meanwhile is no harm.
      const std::string found = read(*thing + "/bytes"), digest = read(*thing + "/digest");
      if ((!found.empty() && found != bytes) || (!digest.empty() && digest != sha256(bytes))) return false;
    } else {
      put(cache, name, bytes);
    }
    if (rng() % 8 == 0) cache.remove(name);
  }
  return true;
}

TEST(CacheFolder, ManyThreads) {
  const testing::TestFolder folder;
  const std::string at = folder.file("cache");
  const CacheFolder cache(at, 20000);
  std::vector<std::thread> threads;
  std::atomic<int> failed = 0;
  for (unsigned t = 0; t < 4; t++) threads.emplace_back([&, t] { failed += !work(cache, t, 60); });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(failed, 0);
}

TEST(CacheFolder, ManyProcessesSomeOfWhichAreKilled) {
  const testing::TestFolder folder;
  const std::string at = folder.file("cache");
  const CacheFolder cache(at, 20000);
  std::vector<pid_t> children;
  for (unsigned p = 0; p < 6; p++) {
    const pid_t child = fork();
    if (child == 0) _exit(work(cache, p, p < 3 ? 60 : 1 << 30) ? 0 : 1);
    children.push_back(child);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  for (std::size_t p = 3; p < 6; p++) kill(children[p], SIGKILL);
  for (std::size_t p = 0; p < 6; p++) {
    int status = 0;
    waitpid(children[p], &status, 0);
    EXPECT_EQ(p < 3 ? status : 0, 0) << "process " << p;
  }
  for (const auto& thing : fs::directory_iterator(at + "/graphs")) EXPECT_TRUE(is_whole(thing.path().string())) << thing.path();
  put(cache, "graphs/last", "last");
  EXPECT_LE(cache.bytes(), 20000);
}

TEST(CacheFolder, LiesWhereTheUserSays) {
  setenv("INGOT_CACHE_DIR", "/somewhere", 1);
  EXPECT_EQ(default_cache_folder(), "/somewhere");
  unsetenv("INGOT_CACHE_DIR");
  setenv("XDG_CACHE_HOME", "/caches", 1);
  EXPECT_EQ(default_cache_folder(), "/caches/ingot");
  unsetenv("XDG_CACHE_HOME");
}

}  // namespace
}  // namespace ingot
