// parallel_for: every index once, exceptions, nesting, several callers.
#include "base/parallel.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/sanitized.hpp"

namespace ingot {
namespace {

class Parallel : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    before_ = num_threads();
    set_num_threads(GetParam());
  }
  void TearDown() override { set_num_threads(before_); }

 private:
  int before_ = 1;
};
INSTANTIATE_TEST_SUITE_P(Threads, Parallel, ::testing::Values(1, 2, 3, 8));

TEST_P(Parallel, EveryIndexOnce) {
  for (int64_t n : {0, 1, 2, 7, 64, 1000})
    for (int64_t grain : {1, 2, 10, 5000}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(n));
      std::atomic<int> bad = 0;
      parallel_for(-3, n - 3, grain, [&](int64_t b, int64_t e) {
        if (b >= e) bad++;
        for (int64_t i = b; i < e; i++) seen[static_cast<std::size_t>(i + 3)]++;
      });
      EXPECT_EQ(bad, 0);
      for (const auto& s : seen) ASSERT_EQ(s, 1) << n << " by " << grain;
    }
}

TEST_P(Parallel, EmptyAndBackwardRangesRunNothing) {
  int calls = 0;
  parallel_for(5, 5, 1, [&](int64_t, int64_t) { calls++; });
  parallel_for(5, 2, 1, [&](int64_t, int64_t) { calls++; });
  EXPECT_EQ(calls, 0);
}

TEST_P(Parallel, PiecesAreNotSmallerThanTheGrain) {
  std::mutex m;
  std::vector<std::pair<int64_t, int64_t>> pieces;
  parallel_for(0, 100, 30, [&](int64_t b, int64_t e) {
    std::lock_guard lock(m);
    pieces.emplace_back(b, e);
  });
  int small = 0;
  for (auto [b, e] : pieces) small += e - b < 30;
  EXPECT_LE(small, 1) << "only the last piece may be shorter";
}

TEST_P(Parallel, AnExceptionArrivesAfterAllPiecesEnded) {
  std::atomic<int> running = 0;
  for (int round = 0; round < 20; round++) {
    try {
      parallel_for(0, 64, 1, [&](int64_t b, int64_t e) {
        running++;
        for (int64_t i = b; i < e; i++)
          if (i == 13) {
            running--;
            throw std::runtime_error("thirteen");
          }
        running--;
      });
      FAIL() << "no exception";
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "thirteen");
    }
    EXPECT_EQ(running, 0);
  }
  // The pool works on.
  std::atomic<int64_t> sum = 0;
  parallel_for(0, 100, 1, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; i++) sum += i;
  });
  EXPECT_EQ(sum, 4950);
}

TEST_P(Parallel, OneOfManyExceptionsArrives) {
  EXPECT_THROW(parallel_for(0, 64, 1, [](int64_t, int64_t) { throw std::logic_error("all fail"); }), std::logic_error);
}

TEST_P(Parallel, NestedCallsRunInTheirThread) {
  std::atomic<int> total = 0, strangers = 0;
  parallel_for(0, 8, 1, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; i++) {
      const auto me = std::this_thread::get_id();
      parallel_for(0, 100, 1, [&](int64_t x, int64_t y) {
        if (std::this_thread::get_id() != me) strangers++;
        total += static_cast<int>(y - x);
        parallel_for(0, 3, 1, [&](int64_t, int64_t) {});
      });
    }
  });
  EXPECT_EQ(total, 800);
  EXPECT_EQ(strangers, 0);
}

TEST_P(Parallel, NestedExceptionsPass) {
  EXPECT_THROW(
      parallel_for(0, 8, 1,
                   [](int64_t, int64_t) { parallel_for(0, 8, 1, [](int64_t, int64_t) { throw std::out_of_range("inner"); }); }),
      std::out_of_range);
}

TEST_P(Parallel, SeveralCallersAtOnce) {
  std::vector<std::thread> callers;
  std::vector<int64_t> sums(4);
  for (std::size_t c = 0; c < sums.size(); c++)
    callers.emplace_back([&, c] {
      for (int round = 0; round < 50; round++) {
        std::atomic<int64_t> sum = 0;
        parallel_for(0, 1000, 10, [&](int64_t b, int64_t e) {
          int64_t s = 0;
          for (int64_t i = b; i < e; i++) s += i;
          sum += s;
        });
        sums[c] += sum;
      }
    });
  for (auto& t : callers) t.join();
  for (int64_t s : sums) EXPECT_EQ(s, 50 * 499500);
}

TEST(ParallelResults, DoNotDependOnTheNumberOfThreads) {
  const int before = num_threads();
  std::vector<double> first;
  for (int threads : {1, 2, 3, 5, 8}) {
    set_num_threads(threads);
    EXPECT_EQ(num_threads(), threads);
    std::vector<double> out(1000);
    parallel_for(0, 1000, 7, [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; i++) out[static_cast<std::size_t>(i)] = std::sin(static_cast<double>(i)) / 3;
    });
    if (first.empty()) first = out;
    EXPECT_EQ(out, first) << threads;
  }
  set_num_threads(before);
}

// A fork has none of its parent's threads, and no lock that another one of them held opens there.
TEST(ParallelResults, AForkHasAPoolOfItsOwn) {
  if (kThreadSanitized) GTEST_SKIP() << "the thread sanitizer does not let a fork of a process with threads start new ones";
  const int before = num_threads();
  set_num_threads(3);
  std::atomic<bool> inside = false, may_go = false;
  std::thread other([&] {
    parallel_for(0, 3, 1, [&](int64_t, int64_t) {
      inside = true;
      while (!may_go) std::this_thread::yield();
    });
  });
  while (!inside) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    std::atomic<int64_t> sum = 0;
    std::mutex m;
    std::set<std::thread::id> threads;
    parallel_for(0, 300, 1, [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; i++) sum += i;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const std::lock_guard lock(m);
      threads.insert(std::this_thread::get_id());
    });
    set_num_threads(2);
    _exit(sum == 44850 && threads.size() > 1 && num_threads() == 2 ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  may_go = true;
  other.join();
  set_num_threads(before);
}

TEST(ParallelResults, ThreadCountsAreClamped) {
  const int before = num_threads();
  set_num_threads(0);
  EXPECT_EQ(num_threads(), 1);
  set_num_threads(-5);
  EXPECT_EQ(num_threads(), 1);
  set_num_threads(100000);
  EXPECT_EQ(num_threads(), 256);
  set_num_threads(before);
}

}  // namespace
}  // namespace ingot
