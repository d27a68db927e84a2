// Threads that help whoever has several things to do at once. A process has one pool for all that
// runs in it (base/process_pool.hpp), a model library one for a process that gives it none: so
// nothing here throws or needs a C++ library.
//
// A caller's region is a number of parts. Whoever is awake takes the next one; a thread belongs to
// a region only once it has taken a part, and the caller takes what nobody else did: it never waits
// for a thread that has not woken. Idle threads sleep. Between `begin` and `end` a thread that had
// work looks for more for a few microseconds first. Several regions are under way at the same time,
// each in a lane of its own.
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
  // Written by its caller before the ticket names it, read by whoever holds a part of it.
  struct Region {
    void (*part)(void* work, int32_t k);
    void* work;
    std::atomic<uint32_t> count;  // read also by those who come too late
    std::atomic<uint32_t> done;
    std::atomic<uint32_t> caller_sleeps;
  };
  struct Lane {
    alignas(64) std::atomic<uint32_t> is_taken{0};
    Region regions[2] = {};  // the one under way, and the one before it
    alignas(64) std::atomic<uint64_t> ticket{0};  // epoch of the region in the upper half, next part in the lower one
  };
  struct Worker {
    ThreadPool* pool;
    pthread_t id;
    int index;
  };
  static constexpr int kLanes = 32;

  static void* work(void* worker);
  Lane* take_lane();
  bool take_parts(Lane& lane);
  bool take_parts_of_all(int first);
  void start_threads(int wanted);
  void notice_fork();
  void forget_parent();
  bool look_for_epoch_after(uint32_t epoch) const;
  void sleep_until_epoch_after(uint32_t epoch);

  Lane lanes_[kLanes];
  std::atomic<int> lane_count_{0};  // those that were ever taken
  alignas(64) std::atomic<uint32_t> epoch_{0};  // of all lanes: what threads sleep on
  std::atomic<int> sleepers_{0};
  std::atomic<int> expecting_{0};
  std::atomic<int> wanted_{0};  // threads, by the regions under way together
  std::atomic<bool> stop_{false};
  std::atomic<int> started_{0};

  pthread_mutex_t starting_ = PTHREAD_MUTEX_INITIALIZER;  // guards what follows
  Worker workers_[kMostThreads - 1] = {};
  bool is_over_ = false;

  const int processors_;
  ForkMark fork_mark_;
};

}  // namespace ingot
