// The threads of one container. A kernel's tasks are cut into items; whoever is awake takes the
// next one.
//
// A worker belongs to a region only once it has taken an item: the caller waits for items, never
// for a worker that has not woken. Idle workers sleep. Between the regions of one run a worker that
// had work looks for more for a few microseconds first. A task owns what it writes and no sum is
// cut by the split, so results do not depend on the number of threads.
#pragma once
#include <atomic>

#include "model/device.hpp"
#include "model/lock.hpp"
#include "model/program.h"

namespace ingot::model {

class Threads {
 public:
  Threads();  // as many as there are processors for this process; none is started yet
  ~Threads();  // ends and joins them
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  int count() const { return count_.load(std::memory_order_relaxed); }
  // As many as INGOT_NUM_THREADS says, if it says something. A user error where that is no whole
  // number from 1; more than 256 are 256.
  bool take_environment();
  bool set_count(int count);  // waits for a region under way; a user error out of [1, 256]

  // Runs all tasks, `grain` at a time. `scratch` is the caller's, of `scratch_bytes` (a multiple of
  // 64). One region at a time: a second caller runs its tasks itself rather than wait. False after
  // a failure; no task has run then.
  bool run(ingot_kernel* kernel, void* const* buffers, const int64_t* symbols, char* scratch, uint64_t scratch_bytes,
           int64_t tasks, int64_t grain);

  bool is_idle() { return caller_.is_free(); }  // no region is under way; for who is alone with them

  // Around a run: workers stay at hand between its regions.
  void begin_run() { runs_.fetch_add(1, std::memory_order_relaxed); }
  void end_run() { runs_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  static constexpr int kMostThreads = 256;

  // One region. Written by its caller before the ticket names it, read by whoever holds an item of
  // it.
  struct Region {
    ingot_kernel* kernel;
    void* const* buffers;
    const int64_t* symbols;
    char* scratch;  // of the workers, one after the other
    uint64_t scratch_bytes;
    int64_t tasks, grain;
    std::atomic<uint32_t> items;  // read also by those who come too late
    std::atomic<uint32_t> done;
    std::atomic<uint32_t> caller_sleeps;
  };

  struct Worker {
    Threads* threads;
    pthread_t id;
    int index;
  };

  static void* work(void* worker);
  void start_workers(int wanted);
  void stop_workers();
  template <class ScratchOf>
  bool take_items(ScratchOf scratch_of);
  bool look_for_epoch_after(uint32_t epoch) const;
  void sleep_until_epoch_after(uint32_t epoch);

  std::atomic<int> count_;
  std::atomic<int> runs_{0};
  std::atomic<bool> stop_{false};

  Mutex caller_;  // held by the one region under way
  Region regions_[2] = {};
  alignas(64) std::atomic<uint64_t> ticket_{0};  // epoch in the upper half, next item in the lower one
  alignas(64) std::atomic<uint32_t> epoch_{0};  // what workers sleep on; follows the ticket's
  std::atomic<int> sleepers_{0};

  // Guarded by caller_.
  Worker workers_[kMostThreads - 1] = {};
  int started_ = 0;
  int process_ = 0;  // the one that started them: a fork has none of them
  Workspace scratch_;
};

}  // namespace ingot::model
