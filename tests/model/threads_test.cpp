// Many callers on one container, and the threads of a run.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "model_fixture.hpp"
#include "support/sanitized.hpp"

namespace ingot::test {
namespace {

using namespace std::chrono_literals;

class ThreadsTest : public ModelTest {
 protected:
  void TearDown() override {
    on_new_tensor(nullptr);
    ModelTest::TearDown();
  }
};
using Concurrency = ThreadsTest;
using Pool = ThreadsTest;

// Eight callers run while another thread updates, folds and swaps 500 times: every result is that
// of the old or of the new weights, and everybody gets to the end.
void run_during_updates(size_t models) {
  const Library library(library_path("affine_pure"));
  const Container container(library, models);
  const auto update = library_call(library, AOTInductorModelContainerUpdateConstantBuffer);
  const auto fold = library_call(library, AOTInductorModelContainerRunConstantFolding);
  const auto swap = library_call(library, AOTInductorModelContainerSwapConstantBuffer);
  ASSERT_EQ(library_call(library, ingot_container_set_threads)(container, 2), 0);

  AffineWeights weights[3] = {AffineWeights(), AffineWeights::times(2), AffineWeights::times(3)};
  constexpr int64_t kRows = 8;
  const Floats x = rows(kRows);
  const Floats expected[3] = {weights[0].affine(x), weights[1].affine(x), weights[2].affine(x)};
  std::atomic<bool> done{false};
  std::atomic<int64_t> seen[3] = {}, others{0}, failures{0};
  std::atomic<int> callers_that_ran{0};

  const auto caller = [&] {
    Floats own = x;
    bool ran = false;
    do {
      AtenTensorHandle input = tensor_over(own, {kRows, 16}), outputs[2];
      if (library_call(library, AOTInductorModelContainerRun)(container, &input, 1, outputs, 2, nullptr, nullptr) != 0) {
        failures++;
        break;
      }
      const Floats y = values_of(outputs[0]);
      const auto which = std::find(std::begin(expected), std::end(expected), y) - std::begin(expected);
      (which < 3 ? seen[which] : others)++;
      for (AtenTensorHandle o : outputs) aoti_torch_delete_tensor_object(o);
      ran = true;
    } while (!done);
    callers_that_ran += ran;
  };
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; i++) callers.emplace_back(caller);
  for (int i = 0; i < 500; i++) {
    AffineMap map(weights[1 + i % 2]);
    EXPECT_EQ(update(container, map.handle(), true, false), 0);
    const bool folds = i % 3 != 0;  // else the first run after the swap does it
    EXPECT_EQ(folds ? fold(container, true, nullptr, nullptr) : 0, 0);
    EXPECT_EQ(swap(container), 0);
    if (i % 50 == 0) std::this_thread::sleep_for(1ms);
  }
  done = true;
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(others, 0) << "results that are neither the old nor the new weights'";
  EXPECT_EQ(callers_that_ran, 8);
  EXPECT_GT(seen[1], 0);
  EXPECT_GT(seen[2], 0);
}

TEST_F(Concurrency, I034_I060_I062_UpdatesDuringRunsOfOneModel) { run_during_updates(1); }
TEST_F(Concurrency, I034_I060_I062_UpdatesDuringRunsOfFourModels) { run_during_updates(4); }

// Updates of the active buffer wait for runs too, so they are never seen by half.
TEST_F(Concurrency, I060_I061_UpdatesOfTheActiveBufferAreNotSeenByHalf) {
  const Library library(library_path("affine_pure"));
  const Container container(library, 2);
  AffineWeights weights[2] = {AffineWeights(), AffineWeights::times(2)};
  const Floats x = rows(4), expected[2] = {weights[0].affine(x), weights[1].affine(x)};
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0}, runs{0};
  std::thread caller([&] {
    while (!done) {
      const Floats y = run_affine(container, x).y;
      wrong += y != expected[0] && y != expected[1];
      runs++;
    }
  });
  for (int i = 0; i < 300 || runs < 300; i++) {
    AffineMap map(weights[i % 2]);
    const auto update = i % 3 ? library_call(library, AOTInductorModelContainerUpdateConstantBuffer)
                              : library_call(library, AOTInductorModelContainerUpdateUserManagedConstantBuffer);
    EXPECT_EQ(update(container, map.handle(), false, false), 0);
  }
  done = true;
  caller.join();
  EXPECT_EQ(wrong, 0);
}

// Runs that write a buffer come one at a time, whatever the number of models: none is lost, and
// copies of it are whole.
TEST_F(Concurrency, I050_I058_EveryRunThatWritesABufferCounts) {
  const Library library(library_path("affine"));
  const Container container(library, 4);
  AffineWeights weights;
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; i++) {
    callers.emplace_back([&] {
      for (int k = 0; k < 50; k++) run_affine(container, rows(2));
    });
  }
  for (int i = 0; i < 50; i++) {
    AffineMap map(weights);
    EXPECT_EQ(library_call(library, AOTInductorModelContainerUpdateConstantBuffer)(container, map.handle(), true, false), 0);
  }
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(run_affine(container, rows(1)).steps, 201);
}

std::atomic<int> inside{0}, most_inside{0};

TEST_F(Concurrency, I034_I035_I036_AsManyRunsInFlightAsThereAreModels) {
  const Library library(library_path("affine_pure"));
  for (const size_t models : {1, 3}) {
    const Container container(library, models);
    run_affine(container, rows(1));
    inside = most_inside = 0;
    on_new_tensor([] {  // a run makes two outputs; each time it stays a while
      const int now = ++inside;
      for (int most = most_inside; now > most && !most_inside.compare_exchange_weak(most, now);) {}
      std::this_thread::sleep_for(2ms);
      --inside;
    });
    std::vector<std::thread> callers;
    for (int i = 0; i < 8; i++) {
      callers.emplace_back([&] {
        for (int k = 0; k < 5; k++) run_affine(container, rows(1));
      });
    }
    for (std::thread& t : callers) t.join();
    on_new_tensor(nullptr);
    EXPECT_EQ(most_inside, static_cast<int>(models));
  }
}

TEST_F(Concurrency, I033_I037_FirstRunsFoldOnceTogether) {
  const Library library(library_path("affine_pure"));
  int& folds = *static_cast<int*>(library.symbol("ingot_test_folds"));
  for (int round = 0; round < 50; round++) {
    folds = 0;
    const Container container(library, 2);
    EXPECT_EQ(folds, 0) << "not before the first run";
    std::vector<std::thread> callers;
    for (int i = 0; i < 4; i++) {
      callers.emplace_back([&] { EXPECT_EQ(run_affine(container, rows(2)).y, AffineWeights().affine(rows(2))); });
    }
    for (std::thread& t : callers) t.join();
    EXPECT_EQ(folds, 1);
  }
}

TEST_F(Concurrency, LastErrorsAreEachThreadsOwn) {
  const Library library(library_path("affine"));
  const auto input = library_call(library, ingot_model_input);
  const auto last_error = library_call(library, ingot_last_error);
  ingot_value_info info;
  EXPECT_EQ(input(5, &info), 1);
  std::thread([&] {
    EXPECT_STREQ(last_error(), "");
    EXPECT_EQ(input(7, &info), 1);
    EXPECT_STREQ(last_error(), "input 7: there are 1");
  }).join();
  EXPECT_STREQ(last_error(), "input 5: there are 1");
}

// ---- the threads of a run

// The sum that programs/many.c makes of 1000 n parallel tasks, or -1.
int64_t total(const Container& container, int64_t n) {
  Floats a(4);
  std::vector<int64_t> b(2), number = {n};
  std::vector<double> c(4);
  std::vector<AtenTensorHandle> outputs(4);
  EXPECT_EQ(
      container.run({tensor_over(a, {2, 2}, {1, 2}), tensor_over(b, {2}), tensor_over(c, {4}), tensor_over(number, {})}, outputs),
      0);
  const int64_t sum = outputs[3] ? values_of<int64_t>(outputs[3])[0] : -1;
  for (AtenTensorHandle o : outputs) {
    if (o) aoti_torch_delete_tensor_object(o);
  }
  return sum;
}
int64_t expected_total(int64_t n) { return n * 1000 * (n * 1000 - 1) / 2; }

int threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<int>(std::distance(begin(tasks), end(tasks)));
}

TEST_F(Pool, AnyNumberOfThreadsGivesTheSameResult) {
  const Library library(library_path("many"));
  const Container container(library, 2);
  const auto set_threads = library_call(library, ingot_container_set_threads);
  int32_t count = 0;
  for (const int threads : {1, 2, 5, 3, 16, 1, 4}) {
    ASSERT_EQ(set_threads(container, threads), 0);
    ASSERT_EQ(library_call(library, ingot_container_get_threads)(container, &count), 0);
    EXPECT_EQ(count, threads);
    for (int64_t n : {0, 1, 7, 40}) EXPECT_EQ(total(container, n), expected_total(n)) << threads << " threads";
  }
  for (const int threads : {0, -1, 257}) {
    EXPECT_EQ(set_threads(container, threads), 1);
    EXPECT_EQ(library_call(library, ingot_last_error)(),
              "number of threads: expected 1 to 256, found " + std::to_string(threads));
  }
}

TEST_F(Pool, SeveralCallersAndAChangeOfTheirNumber) {
  const Library library(library_path("many"));
  const Container container(library, 3);
  std::atomic<bool> done{false};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; i++) {
    callers.emplace_back([&, i] {
      do EXPECT_EQ(total(container, 3 + i), expected_total(3 + i));
      while (!done);
    });
  }
  for (int i = 0; i < 100; i++) EXPECT_EQ(library_call(library, ingot_container_set_threads)(container, 1 + i % 4), 0);
  done = true;
  for (std::thread& t : callers) t.join();
}

TEST_F(Pool, TheEnvironmentSaysHowMany) {
  const Library library(library_path("many"));
  const auto count = [&] {
    const Container container(library);
    int32_t threads = 0;
    EXPECT_EQ(library_call(library, ingot_container_get_threads)(container, &threads), 0);
    return threads;
  };
  ASSERT_EQ(setenv("INGOT_NUM_THREADS", "3", 1), 0);
  EXPECT_EQ(count(), 3);
  ASSERT_EQ(setenv("INGOT_NUM_THREADS", "1000", 1), 0);
  EXPECT_EQ(count(), 256);
  ASSERT_EQ(setenv("INGOT_NUM_THREADS", "99999999999999999999", 1), 0);
  EXPECT_EQ(count(), 256);
  ASSERT_EQ(setenv("INGOT_NUM_THREADS", "", 1), 0);
  EXPECT_GE(count(), 1);
  for (const std::string nonsense : {"0", "-2", "many", "2x", " 2", "1.5"}) {
    ASSERT_EQ(setenv("INGOT_NUM_THREADS", nonsense.c_str(), 1), 0);
    AOTInductorModelContainerHandle none = nullptr;
    EXPECT_EQ(
        message_of(library,
                   [&] { return library_call(library, AOTInductorModelContainerCreateWithDevice)(&none, 1, "cpu", nullptr); }),
        "INGOT_NUM_THREADS: expected a whole number from 1, found '" + nonsense + "'");
  }
  ASSERT_EQ(unsetenv("INGOT_NUM_THREADS"), 0);
}

TEST_F(Pool, I012_ThreadsStartWhenNeededSleepWhenIdleAndEndWithTheContainer) {
  const Library library(library_path("many"));
  const int before = threads_of_this_process();
  {
    const Container container(library);
    ASSERT_EQ(library_call(library, ingot_container_set_threads)(container, 4), 0);
    total(container, 0);
    EXPECT_EQ(threads_of_this_process(), before);  // nothing to do in parallel yet
    total(container, 20);
    EXPECT_EQ(threads_of_this_process(), before + 3);

    std::this_thread::sleep_for(20ms);
    const auto processor_time = [] {
      rusage usage{};
      getrusage(RUSAGE_SELF, &usage);
      return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
    };
    const auto start = processor_time();
    std::this_thread::sleep_for(200ms);
    EXPECT_LT(processor_time() - start, 50000) << "microseconds of work in 200 ms of idleness";
  }
  EXPECT_EQ(threads_of_this_process(), before);
}

// A pool of the caller's: what it was asked for, and what it does with that.
struct OwnPool {
  explicit OwnPool(void (*run)(void (*)(void*, int32_t), void*, int32_t)) : run(run) {}
  ingot_thread_pool functions{sizeof functions, this,
                              [](void* self, void (*part)(void*, int32_t), void* work, int32_t count) {
                                auto& pool = *static_cast<OwnPool*>(self);
                                pool.calls++;
                                pool.parts += count;
                                pool.run(part, work, count);
                              },
                              [](void* self) { static_cast<OwnPool*>(self)->begun++; },
                              [](void* self) { static_cast<OwnPool*>(self)->ended++; }};
  void (*run)(void (*part)(void*, int32_t), void* work, int32_t count);
  std::atomic<int> calls{0}, parts{0}, begun{0}, ended{0};
};

void backwards(void (*part)(void*, int32_t), void* work, int32_t count) {
  while (count-- > 0) part(work, count);
}
void a_thread_each(void (*part)(void*, int32_t), void* work, int32_t count) {
  std::vector<std::thread> threads;
  for (int32_t k = 0; k < count; k++) threads.emplace_back(part, work, k);
  for (std::thread& t : threads) t.join();
}

TEST_F(Pool, ThatOfTheCallerRunsTheParts) {
  const Library library(library_path("many"));
  const auto set_pool = library_call(library, ingot_container_set_pool);
  const int before = threads_of_this_process();
  for (const auto run : {backwards, a_thread_each}) {
    const Container container(library, 2);
    OwnPool pool(run);
    ASSERT_EQ(library_call(library, ingot_container_set_threads)(container, 5), 0);
    ASSERT_EQ(set_pool(container, &pool.functions), 0);
    for (int64_t n : {0, 1, 7, 40}) EXPECT_EQ(total(container, n), expected_total(n));
    EXPECT_EQ(pool.calls, 3);  // no tasks, no call
    EXPECT_EQ(pool.parts, 15);
    EXPECT_EQ(pool.begun, 3);
    EXPECT_EQ(pool.ended, 3);
    EXPECT_EQ(threads_of_this_process(), before) << "the container has started none";
    ASSERT_EQ(set_pool(container, nullptr), 0);
    EXPECT_EQ(total(container, 7), expected_total(7));
    EXPECT_EQ(threads_of_this_process(), before + 4);
    EXPECT_EQ(pool.calls, 3);
  }
}

// One whose structure ends before `begin`, of an older header, is one without; less is none.
TEST_F(Pool, ThoseOfOtherHeaders) {
  const Library library(library_path("many"));
  const auto set_pool = library_call(library, ingot_container_set_pool);
  const Container container(library);
  ASSERT_EQ(library_call(library, ingot_container_set_threads)(container, 3), 0);
  OwnPool pool(backwards);
  pool.functions.size = offsetof(ingot_thread_pool, begin);
  ASSERT_EQ(set_pool(container, &pool.functions), 0);
  EXPECT_EQ(total(container, 5), expected_total(5));
  EXPECT_EQ(pool.calls, 1);
  EXPECT_EQ(pool.begun, 0);
  pool.functions.size = 8;
  EXPECT_EQ(set_pool(container, &pool.functions), 1);
  EXPECT_EQ(library_call(library, ingot_last_error)(),
            std::string("ingot_thread_pool: size: expected sizeof(ingot_thread_pool), which is 40, found 8"));
  pool.functions.size = sizeof pool.functions;
  pool.functions.parallel_for = nullptr;
  EXPECT_EQ(set_pool(container, &pool.functions), 1);
  EXPECT_EQ(library_call(library, ingot_last_error)(),
            std::string("ingot_thread_pool: parallel_for: expected a function, found null"));
  EXPECT_EQ(total(container, 5), expected_total(5));
  EXPECT_EQ(pool.calls, 2) << "a pool that is refused changes nothing";
}

// No half of a pointer is called, no `end` without its `begin`, and no field is passed over.
TEST_F(Pool, OneThatIsUnderstoodInPartIsRefused) {
  const Library library(library_path("many"));
  const auto set_pool = library_call(library, ingot_container_set_pool);
  const Container container(library);
  ASSERT_EQ(library_call(library, ingot_container_set_threads)(container, 3), 0);
  OwnPool pool(backwards);
  struct {
    ingot_thread_pool known;
    char later[8];
  } given = {pool.functions, {}};
  const auto refusal = [&] {
    EXPECT_EQ(set_pool(container, &given.known), 1);
    return std::string(library_call(library, ingot_last_error)());
  };
  for (const size_t size : {size_t{28}, size_t{39}, size_t{41}, SIZE_MAX - 7}) {
    given.known.size = size;
    EXPECT_EQ(refusal(),
              "ingot_thread_pool: size: expected sizeof(ingot_thread_pool), which is 40, found " + std::to_string(size));
  }
  given.known.size = offsetof(ingot_thread_pool, end);  // of a header that has `begin` alone
  EXPECT_EQ(refusal(), "ingot_thread_pool: begin and end: expected both or neither, found begin alone");
  given.known.size = sizeof given.known;
  given.known.begin = nullptr;
  EXPECT_EQ(refusal(), "ingot_thread_pool: begin and end: expected both or neither, found end alone");
  given.known = pool.functions;
  given.known.size = sizeof given;
  given.later[0] = 1;
  EXPECT_EQ(
      refusal(),
      "ingot_thread_pool: a field at byte 40 is set, of a later ingot/abi.h than that of this library, which knows the first "
      "40 bytes");
  given.later[0] = 0;
  ASSERT_EQ(set_pool(container, &given.known), 0);
  EXPECT_EQ(total(container, 5), expected_total(5));
  EXPECT_EQ(pool.begun, 1);
  EXPECT_EQ(pool.ended, 1);
}

TEST_F(Pool, AForkHasThreadsOfItsOwn) {
  if (kThreadSanitized) GTEST_SKIP() << "the thread sanitizer does not let a fork of a process with threads start new ones";
  const Library library(library_path("many"));
  const Container container(library);
  ASSERT_EQ(library_call(library, ingot_container_set_threads)(container, 3), 0);
  EXPECT_EQ(total(container, 20), expected_total(20));
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    bool is_well = true;
    for (int i = 0; i < 20; i++) is_well &= total(container, 20) == expected_total(20);
    is_well &= threads_of_this_process() == 3;
    is_well &=
        library_call(library, ingot_container_set_threads)(container, 2) == 0 && total(container, 20) == expected_total(20);
    library_call(library, AOTInductorModelContainerDelete)(container);
    _exit(is_well && threads_of_this_process() == 1 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(total(container, 20), expected_total(20));  // and the parent has kept its own
}

std::atomic<bool> caller_is_inside{false}, caller_may_go{false};

// The child of a fork has what another thread of its parent was in the middle of, without that
// thread: nobody would ever finish it. It is told so, and what it loads itself runs.
TEST_F(Pool, AForkDuringARunIsRefusedAndHangsNowhere) {
  if (kThreadSanitized) GTEST_SKIP() << "the thread sanitizer does not let a fork of a process with threads start new ones";
  const Library library(library_path("many"));
  for (const size_t models : {1, 2}) {
    const Container container(library, models), idle(library);
    ASSERT_EQ(library_call(library, ingot_container_set_threads)(container, 2), 0);
    EXPECT_EQ(total(container, 20), expected_total(20));
    caller_is_inside = caller_may_go = false;
    on_new_tensor([] {
      caller_is_inside = true;
      while (!caller_may_go) std::this_thread::sleep_for(1ms);
    });
    std::thread caller([&] { EXPECT_EQ(total(container, 20), expected_total(20)); });
    while (!caller_is_inside) std::this_thread::sleep_for(1ms);
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      on_new_tensor(nullptr);
      const std::string expected =
          "this process was forked while another thread used the model, and what it has of it was in the middle of that: load "
          "the model again here, or fork when no thread runs it";
      const auto refused = [&](auto call) { return call() == 1 && library_call(library, ingot_last_error)() == expected; };
      bool is_well = true;
      for (int k = 0; k < 2; k++) {
        std::vector<AtenTensorHandle> none;
        is_well &= refused([&] { return container.run({}, none); });
        is_well &= refused([&] { return library_call(library, ingot_container_set_threads)(container, 1); });
        is_well &= refused([&] { return library_call(library, AOTInductorModelContainerSwapConstantBuffer)(container); });
      }
      const pid_t grandchild = fork();
      if (grandchild == 0)
        _exit(refused([&] { return library_call(library, AOTInductorModelContainerSwapConstantBuffer)(container); }) ? 0 : 1);
      int status = -1;
      is_well &= waitpid(grandchild, &status, 0) == grandchild && status == 0;
      is_well &= library_call(library, AOTInductorModelContainerDelete)(container) == 0;
      is_well &= total(idle, 20) == expected_total(20);  // nobody used this one
      const Container fresh(library);
      is_well &= total(fresh, 20) == expected_total(20);
      _exit(is_well ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    caller_may_go = true;
    caller.join();
    on_new_tensor(nullptr);
    EXPECT_EQ(total(container, 20), expected_total(20));
  }
}

// A line that the parent was in the middle of does not keep the child from its own.
TEST_F(Pool, AForkWhileTheLogHearsALineCanLog) {
  if (kThreadSanitized) GTEST_SKIP() << "the thread sanitizer takes locks in the child for those of the parent's threads";
  const Library library(library_path("many"));
  const auto set_log = library_call(library, ingot_model_set_log);
  const auto complain = [&] { return library_call(library, AOTInductorModelContainerSwapConstantBuffer)(nullptr); };
  caller_is_inside = caller_may_go = false;
  set_log(
      [](void*, ingot_log_level, const char*) {
        caller_is_inside = true;
        while (!caller_may_go) std::this_thread::sleep_for(1ms);
      },
      nullptr);
  std::thread caller([&] { EXPECT_EQ(complain(), 1); });
  while (!caller_is_inside) std::this_thread::sleep_for(1ms);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    int lines = 0;
    set_log([](void* context, ingot_log_level, const char*) { ++*static_cast<int*>(context); }, &lines);
    _exit(complain() == 1 && complain() == 1 && lines == 2 ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  caller_may_go = true;
  caller.join();
  set_log(nullptr, nullptr);
}

TEST_F(Pool, ALibraryCanBeUnloaded) {
  const auto is_loaded = [] {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find("/many_") != std::string::npos) return true;
    }
    return false;
  };
  for (int i = 0; i < 20; i++) {
    {
      const Library library(library_path("many"));
      const Container container(library);
      EXPECT_EQ(library_call(library, ingot_container_set_threads)(container, 3), 0);
      EXPECT_EQ(total(container, 5), expected_total(5));
      ingot_value_info info;
      std::thread([&] { EXPECT_EQ(library_call(library, ingot_model_input)(99, &info), 1); }).join();
      EXPECT_EQ(library_call(library, ingot_model_input)(99, &info), 1);
      EXPECT_TRUE(is_loaded());
    }
    EXPECT_FALSE(is_loaded());
  }
}

}  // namespace
}  // namespace ingot::test
