// The pool of threads that eager ops, the compiler and models share: every part once, several
// callers, nested ones, how many threads there are, their end.
#include "base/thread_pool.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/process_pool.hpp"
#include "support/sanitized.hpp"

namespace ingot {
namespace {

using Part = std::function<void(int32_t)>;

void run(ThreadPool& pool, int32_t count, Part part) {
  pool.run([](void* work, int32_t k) { (*static_cast<Part*>(work))(k); }, &part, count);
}

int threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<int>(std::distance(begin(tasks), end(tasks)));
}

// The same where threads were joined, which are listed for a moment longer: until there are so
// many, or for ten seconds.
int threads_left(int expected) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (threads_of_this_process() != expected && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return threads_of_this_process();
}

// Parts that wait for each other need as many threads at the same time.
void meet(ThreadPool& pool, int32_t count) {
  std::atomic<int> there = 0;
  run(pool, count, [&](int32_t) {
    there++;
    while (there < count) std::this_thread::yield();
  });
}

TEST(ThreadPool, EveryPartOnce) {
  ThreadPool pool;
  for (const int32_t count : {0, 1, 2, 3, 8, 1000})
    for (int round = 0; round < 20; round++) {
      std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
      run(pool, count, [&](int32_t k) { calls[static_cast<std::size_t>(k)]++; });
      for (const std::atomic<int>& c : calls) ASSERT_EQ(c, 1) << count;
    }
  EXPECT_TRUE(pool.is_idle());
}

// More callers at once than the pool has lanes; each also calls from within its parts.
TEST(ThreadPool, SeveralCallersWithCallsInTheirParts) {
  ThreadPool pool;
  std::vector<std::thread> callers;
  std::atomic<int64_t> sum = 0;
  for (int c = 0; c < 40; c++)
    callers.emplace_back([&] {
      for (int round = 0; round < 20; round++)
        run(pool, 4, [&](int32_t k) { run(pool, 3, [&](int32_t j) { sum += 10 * k + j; }); });
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(sum, 40 * 20 * (3 * 60 + 4 * 3));
  EXPECT_TRUE(pool.is_idle());
}

// A region has as many threads as it asks for, also beside another one that has its own.
TEST(ThreadPool, RegionsUnderWayTogetherHaveThreadsOfTheirOwn) {
  ThreadPool pool;
  const int before = threads_of_this_process();
  meet(pool, 4);
  EXPECT_EQ(threads_of_this_process(), before + 3);
  meet(pool, 3);
  EXPECT_EQ(threads_of_this_process(), before + 3) << "they are kept";
  std::atomic<int> inside = 0;
  std::atomic<bool> may_go = false;
  std::thread other([&] {
    run(pool, 2, [&](int32_t) {
      inside++;
      while (!may_go) std::this_thread::yield();
    });
  });
  while (inside < 2) std::this_thread::yield();
  meet(pool, 3);  // one of the three is busy
  may_go = true;
  other.join();
}

TEST(ThreadPool, ManyCallersDoNotMakeManyThreads) {
  ThreadPool pool;
  const int before = threads_of_this_process();
  constexpr int kCallers = 12;
  std::atomic<int> most = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < kCallers; c++)
    callers.emplace_back([&] {
      for (int round = 0; round < 50; round++)
        run(pool, 4, [&](int32_t) { most = std::max<int>(most, threads_of_this_process()); });
    });
  for (std::thread& t : callers) t.join();
  EXPECT_LE(most, before + kCallers + std::max(3, processor_count() - 1));
}

TEST(ThreadPool, ThreadsEndAndStartAgain) {
  ThreadPool pool;
  const int before = threads_of_this_process();
  for (int round = 0; round < 3; round++) {
    meet(pool, 3);
    EXPECT_EQ(threads_of_this_process(), before + 2);
    pool.end_threads();
    EXPECT_EQ(threads_left(before), before);
  }
  pool.end_for_good();
  std::atomic<int> calls = 0;
  run(pool, 5, [&](int32_t) { calls++; });
  EXPECT_EQ(calls, 5);
  EXPECT_EQ(threads_left(before), before);
}

// They may end while somebody else has a region under way.
TEST(ThreadPool, ThreadsEndWhileRegionsAreUnderWay) {
  ThreadPool pool;
  std::atomic<bool> done = false;
  std::vector<std::thread> callers;
  for (int c = 0; c < 3; c++)
    callers.emplace_back([&] {
      do {
        std::atomic<int> calls = 0;
        run(pool, 4, [&](int32_t) { calls++; });
        EXPECT_EQ(calls, 4);
      } while (!done);
    });
  for (int round = 0; round < 100; round++) pool.end_threads();
  done = true;
  for (std::thread& t : callers) t.join();
}

// In a child the regions of other threads of the parent are not there, and new threads start.
TEST(ThreadPool, AForkHasThreadsOfItsOwn) {
  if (kThreadSanitized) GTEST_SKIP() << "the thread sanitizer does not let a fork of a process with threads start new ones";
  ThreadPool pool;
  std::atomic<int> inside = 0;
  std::atomic<bool> may_go = false;
  std::thread other([&] {
    run(pool, 3, [&](int32_t) {
      inside++;
      while (!may_go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  });
  while (inside < 3) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    meet(pool, 3);
    const bool has_three = threads_of_this_process() == 3;
    pool.end_threads();
    _exit(has_three && threads_left(1) == 1 && pool.is_idle() ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  may_go = true;
  other.join();
}

// The state of a thread of this process, as the kernel's letter: 'S' is asleep.
char state_of_thread(pid_t id) {
  std::ifstream file("/proc/self/task/" + std::to_string(id) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t end = line.rfind(')');
  return end == std::string::npos || end + 2 >= line.size() ? '?' : line[end + 2];
}

// How a child ends that is forked while one thread has a region under way and another one waits for
// it to end the threads, with the pool's lock.
int status_of_fork_while_threads_end(ThreadPool& pool, const std::function<void()>& in_child) {
  std::atomic<int> inside = 0;
  std::atomic<bool> may_go = false;
  std::thread caller([&] {
    run(pool, 2, [&](int32_t) {
      inside++;
      while (!may_go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  });
  while (inside < 2) std::this_thread::yield();
  std::atomic<pid_t> id = 0;
  std::thread ender([&] {
    id = gettid();
    pool.end_threads();
  });
  while (id == 0 || state_of_thread(id) != 'S') std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    in_child();
    _exit(1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  may_go = true;
  caller.join();
  ender.join();
  return status;
}

TEST(ThreadPool, AForkDoesNotWaitForALockOfItsParent) {
  if (kThreadSanitized) GTEST_SKIP() << "the thread sanitizer takes the lock for the parent's thread's";
  ThreadPool pool;
  EXPECT_EQ(status_of_fork_while_threads_end(pool,
                                             [&] {
                                               pool.end_for_good();
                                               _exit(threads_left(1) == 1 && pool.is_idle() ? 0 : 1);
                                             }),
            0);
}

// Not by _exit(): what a process has is destroyed, its pool too.
TEST(ThreadPool, AForkCanExit) {
  if (kThreadSanitized || kAddressSanitized)
    GTEST_SKIP() << "sanitizers look at exit for locks and memory of threads that the child does not have";
  EXPECT_EQ(status_of_fork_while_threads_end(process_pool(), [] { std::exit(0); }), 0);
}

}  // namespace
}  // namespace ingot
