// Threads that help whoever has several things to do at once. A process has one pool for all that
// runs in it (base/process_pool.hpp), a model library one for a process that gives it none: so
// nothing here throws or needs a C++ library.
//
// A caller's region is a number of parts. A thread belongs to a region only once it has taken one,
// and the caller takes what nobody else did: it never waits for a thread that has not woken. Each
// thread looks for the same part first every time, whose data may still be near it. Idle threads
// sleep. Between `begin` and `end` a thread looks for more for some hundred microseconds first,
// unless that was in vain before. Several regions are under way at the same time, each in a lane of
// its own.
//
// With sixteen threads what a region costs is how often a line of memory goes from one processor to
// another: to take a part is one exchange that cannot fail for another part's sake, to end one is
// another.
#pragma once
#include <pthread.h>
#include <stdint.h>

#include <atomic>

#include "base/fork_mark.hpp"

namespace ingot {

int processor_count();  // that this process may use

class ThreadPool {
 public:
  static constexpr int kMostThreads = 256;  // the caller's included

  ThreadPool();  // starts no threads yet
  ~ThreadPool() { end_threads(); }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Calls part(work, k) once for every k of [0, count), on this thread and on threads of the pool,
  // and returns when all have returned. From any thread, several at once, and from within a part.
  // As many threads are started as regions under way want, but no more than there are processors,
  // or than this one wants. In a child of fork() they are new ones.
  void run(void (*part)(void* work, int32_t k), void* work, int32_t count);

  void begin() { expecting_.fetch_add(1, std::memory_order_relaxed); }
  void end() { expecting_.fetch_sub(1, std::memory_order_relaxed); }

  bool is_idle() const;  // no region is under way; for who is alone with the pool
  // Ends and joins the threads, after the parts that they are in; a later region starts new ones.
  void end_threads();
  // The same, and none are started again: callers do everything themselves.
  void end_for_good();

 private:
  static constexpr int kWords = kMostThreads / 64;
  struct Lane {
    alignas(64) std::atomic<uint32_t> is_taken{0};
    // The region: written by its caller before it opens parts, read by whoever holds one.
    void (*part)(void* work, int32_t k);
    void* work;
    int32_t count;
    // A bit for each part that nobody can take, because somebody has or there is none. Parts from
    // kMostThreads on belong to whoever has the one so many before.
    alignas(64) std::atomic<uint64_t> closed[kWords];
    // Parts that have not ended, and in the highest bit whether the caller sleeps until they have.
    alignas(64) std::atomic<uint32_t> left{0};

    Lane() { close(); }
    void close();
    int take(int own);  // a part, `own` where that is open; negative: none is
    void open_parts(int count);
  };
  struct Worker {
    ThreadPool* pool;
    pthread_t id;
    int index;
  };
  static constexpr int kLanes = 32;

  static void* work(void* worker);
  Lane* take_lane();
  static bool take_parts(Lane& lane, int own);
  bool take_parts_of_all(int own);
  void start_threads(int wanted);
  void notice_fork();
  void forget_parent();
  bool expects_more() const { return expecting_.load(std::memory_order_relaxed) > 0; }
  void sleep_until_epoch_after(uint32_t epoch);

  Lane lanes_[kLanes];
  // What threads look at, and sleep on.
  alignas(64) std::atomic<uint32_t> epoch_{0};  // of all lanes
  std::atomic<int> expecting_{0};
  std::atomic<int> lane_count_{0};  // those that were ever taken
  std::atomic<bool> stop_{false};
  alignas(64) std::atomic<int> sleepers_{0};
  alignas(64) std::atomic<int> wanted_{0};  // threads, by the regions under way together
  std::atomic<int> started_{0};

  pthread_mutex_t starting_ = PTHREAD_MUTEX_INITIALIZER;  // guards what follows
  Worker workers_[kMostThreads - 1] = {};
  bool is_over_ = false;

  const int processors_;
  ForkMark fork_mark_;
};

}  // namespace ingot
