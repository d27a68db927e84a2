#include "base/parallel.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.hpp"

namespace ingot {
namespace {

constexpr int kMostThreads = 256;

int default_threads() {
  if (const char* s = std::getenv("INGOT_NUM_THREADS"); s && *s) {
    int n = 0;
    const char* end = s + std::strlen(s);
    const auto [at, error] = std::from_chars(s, end, n);
    const bool is_number = at == end && *s != '-' && error != std::errc::invalid_argument;
    INGOT_REQUIRE(is_number && (n >= 1 || error != std::errc()), "INGOT_NUM_THREADS: expected a whole number from 1, found '", s,
                  "'");
    return error == std::errc() ? std::min(n, kMostThreads) : kMostThreads;
  }
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return 1;
}

thread_local bool inside_region = false;

class Pool {
 public:
  explicit Pool(int threads) : threads_(threads) {}
  ~Pool() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (auto& t : workers_) t.join();
  }

  int threads() {
    std::lock_guard lock(mutex_);
    return threads_;
  }
  void set_threads(int n) {
    std::lock_guard lock(mutex_);
    threads_ = std::clamp(n, 1, kMostThreads);
  }
  // For a fork, where none of the threads is, and no lock is sure to be open.
  int threads_at_fork() const { return threads_; }

  void run(int64_t begin, int64_t end, int64_t grain, void (*fn)(void*, int64_t, int64_t), void* ctx) {
    const int n = threads();
    // One region at a time: a second caller runs its own work itself rather than wait.
    std::unique_lock region(region_, std::try_to_lock);
    if (n == 1 || inside_region || !region.owns_lock()) return fn(ctx, begin, end);
    Job job{begin, end, std::max(grain, (end - begin + n - 1) / n), fn, ctx};
    {
      std::lock_guard lock(mutex_);
      while (static_cast<int>(workers_.size()) < n - 1) workers_.emplace_back([this] { work(); });
      job_ = &job;
      epoch_++;
    }
    wake_.notify_all();
    drain(job);
    {
      std::unique_lock lock(mutex_);
      job_ = nullptr;  // workers that have not joined yet never will
      done_.wait(lock, [&] { return job.members == 0; });
    }
    if (job.error) std::rethrow_exception(job.error);
  }

 private:
  struct Job {
    int64_t next, end, step;
    void (*fn)(void*, int64_t, int64_t);
    void* ctx;
    int members = 0;
    std::exception_ptr error = nullptr;
  };

  void drain(Job& job) {
    inside_region = true;
    for (;;) {
      int64_t b, e;
      {
        std::lock_guard lock(mutex_);
        if (job.next >= job.end) break;
        b = job.next;
        e = job.next = std::min(job.end, job.next + job.step);
      }
      try {
        job.fn(job.ctx, b, e);
      } catch (...) {
        std::lock_guard lock(mutex_);
        if (!job.error) job.error = std::current_exception();
      }
    }
    inside_region = false;
  }

  void work() {
    uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return stop_ || (job_ && epoch_ != seen); });
      if (stop_) return;
      seen = epoch_;
      Job& job = *job_;
      job.members++;
      lock.unlock();
      drain(job);
      lock.lock();
      if (--job.members == 0) done_.notify_one();
    }
  }

  std::mutex mutex_, region_;
  std::condition_variable wake_, done_;
  std::vector<std::thread> workers_;
  Job* job_ = nullptr;
  uint64_t epoch_ = 0;
  bool stop_ = false;
  int threads_;
};

// The process's. A fork gets one of its own, and leaves its parent's as it lies.
std::unique_ptr<Pool> the_pool;

void renew_pool_in_fork() {
  if (!the_pool) return;
  const int threads = the_pool->threads_at_fork();
  (void)the_pool.release();
  the_pool = std::make_unique<Pool>(threads);
}

Pool& pool() {
  static const bool made = [] {
    the_pool = std::make_unique<Pool>(default_threads());
    pthread_atfork(nullptr, nullptr, renew_pool_in_fork);
    return true;
  }();
  (void)made;
  return *the_pool;
}

}  // namespace

int num_threads() { return pool().threads(); }
void set_num_threads(int n) { pool().set_threads(n); }

void detail::parallel_run(int64_t begin, int64_t end, int64_t grain, void (*fn)(void*, int64_t, int64_t), void* ctx) {
  pool().run(begin, end, grain, fn, ctx);
}

}  // namespace ingot
