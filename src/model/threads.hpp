// The threads of one container: how many a run has, and whose they are. A kernel's tasks are cut
// into items; each of the threads takes the next one until there is none. A task owns what it
// writes and no sum is cut by the split, so results do not depend on the threads.
#pragma once
#include <atomic>

#include "base/thread_pool.hpp"
#include "ingot/abi.h"
#include "model/device.hpp"
#include "model/program.h"

namespace ingot::model {

class Threads {
 public:
  Threads();  // as many as there are processors for this process, of a pool of its own
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  int count() const { return count_.load(std::memory_order_relaxed); }
  // As many as INGOT_NUM_THREADS says, if it says something. A user error where that is no whole
  // number from 1; more than 256 are 256.
  bool take_environment();
  bool set_count(int count);  // a user error out of [1, 256]

  // Threads of this pool from now on; null: of its own. While nothing runs. A user error where it
  // is none (base/given_pool.hpp).
  bool set_pool(const ingot_thread_pool* pool);

  bool is_idle() { return own_.is_idle(); }  // no region of its own pool is under way; for who is alone with them

 private:
  friend class ThreadsOfRun;

  std::atomic<int> count_;
  ThreadPool own_;
  ingot_thread_pool pool_;
};

// Those of one run, which has one region at a time. The first one that needs other threads than the
// run's tells the pool that more will come.
class ThreadsOfRun {
 public:
  explicit ThreadsOfRun(Threads& threads) : pool_(threads.pool_), count_(threads.count()) {}
  ~ThreadsOfRun() {
    if (has_begun_ && pool_.end) pool_.end(pool_.context);
  }
  ThreadsOfRun(const ThreadsOfRun&) = delete;
  ThreadsOfRun& operator=(const ThreadsOfRun&) = delete;

  // Runs all tasks, `grain` at a time. Each thread has `scratch_bytes` of the scratch, a multiple
  // of 64. False after a failure; no task has run then.
  bool run(ingot_kernel* kernel, void* const* buffers, const int64_t* symbols, Workspace& scratch, uint64_t scratch_bytes,
           int64_t tasks, int64_t grain);

 private:
  const ingot_thread_pool& pool_;
  const int count_;
  bool has_begun_ = false;
};

}  // namespace ingot::model
