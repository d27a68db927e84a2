#include "base/thread_pool.hpp"

#include <sched.h>
#include <signal.h>
#include <time.h>

#include "base/futex.hpp"

namespace ingot {
namespace {

void pause_a_little() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  __asm__ volatile("yield");
#endif
}

int64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1000000000} + now.tv_nsec;
}

// How long a thread looks for the next region. Between two kernels of a run there is often one that
// a single thread does in some ten microseconds. To wake a thread takes longer than that, most of
// all where processors are virtual: one that sleeps is given to somebody else.
constexpr int64_t kLookNanoseconds = 300000;
// How long a caller looks for the end of the parts that others are in.
constexpr int64_t kWaitNanoseconds = 100000;
// Who is away between two looks at the clock for longer than this had to give the core away: others
// want it, and the thread may even keep its own caller from one.
constexpr int64_t kLongestAway = 200000;

enum class Look { found, in_vain, was_away };

template <class Found>
Look look_for(Found found, int64_t nanoseconds_at_most) {
  int64_t last = nanoseconds();
  for (const int64_t end = last + nanoseconds_at_most;;) {
    for (int i = 0; i < 16; i++) {
      if (found()) return Look::found;
      pause_a_little();
    }
    const int64_t now = nanoseconds();
    if (now - last > kLongestAway) return Look::was_away;
    if (now >= end) return Look::in_vain;
    last = now;
  }
}

constexpr uint32_t kCallerSleeps = uint32_t{1} << 31;

}  // namespace

int processor_count() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  const int count = CPU_COUNT(&set);
  return count < 1 ? 1 : count;
}

ThreadPool::ThreadPool() : processors_(processor_count()) {}

bool ThreadPool::is_idle() const {
  for (const Lane& lane : lanes_)
    if (lane.is_taken.load(std::memory_order_acquire)) return false;
  return true;
}

void ThreadPool::run(void (*part)(void* work, int32_t k), void* work, int32_t count) {
  notice_fork();
  Lane* lane = count > 1 ? take_lane() : nullptr;
  if (!lane) {  // so many callers keep the machine busy by themselves
    for (int32_t k = 0; k < count; k++) part(work, k);
    return;
  }
  const int helpers = count - 1;
  start_threads(helpers);

  lane->part = part;
  lane->work = work;
  lane->count = count;
  const int parts = count < kMostThreads ? count : kMostThreads;
  lane->left.store(static_cast<uint32_t>(parts), std::memory_order_relaxed);
  lane->open_parts(parts);
  // A thread first counts itself as asleep and then looks at the epoch; here it is the other way
  // round: one sees the other.
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0) futex_wake(epoch_, helpers);

  take_parts(*lane, 0);
  const auto is_done = [&] { return lane->left.load(std::memory_order_acquire) == 0; };
  if (!is_done() && look_for(is_done, kWaitNanoseconds) != Look::found &&
      lane->left.fetch_or(kCallerSleeps, std::memory_order_acq_rel) != 0) {
    for (uint32_t left; (left = lane->left.load(std::memory_order_acquire)) != kCallerSleeps;) futex_wait(lane->left, left);
  }
  wanted_.fetch_sub(helpers, std::memory_order_relaxed);
  lane->is_taken.store(0, std::memory_order_release);
}

// Null where all are taken.
ThreadPool::Lane* ThreadPool::take_lane() {
  for (int k = 0; k < kLanes; k++) {
    Lane& lane = lanes_[k];
    if (lane.is_taken.load(std::memory_order_relaxed) || lane.is_taken.exchange(1, std::memory_order_acquire)) continue;
    int seen = lane_count_.load(std::memory_order_relaxed);
    while (seen <= k && !lane_count_.compare_exchange_weak(seen, k + 1, std::memory_order_release)) {}
    return &lane;
  }
  return nullptr;
}

void ThreadPool::Lane::close() {
  for (std::atomic<uint64_t>& word : closed) word.store(~uint64_t{0}, std::memory_order_relaxed);
}

void ThreadPool::Lane::open_parts(int count) {
  for (std::atomic<uint64_t>& word : closed) {
    if (count <= 0) return;
    word.store(count < 64 ? ~uint64_t{0} << count : 0, std::memory_order_release);
    count -= 64;
  }
}

int ThreadPool::Lane::take(int own) {
  for (int k = 0; k < kWords; k++) {
    const int word = (own / 64 + k) % kWords;
    for (uint64_t seen = closed[word].load(std::memory_order_relaxed); ~seen;) {
      const bool own_is_open = k == 0 && !(seen >> own % 64 & 1);
      const int bit = own_is_open ? own % 64 : __builtin_ctzll(~seen);
      seen = closed[word].fetch_or(uint64_t{1} << bit, std::memory_order_acquire);
      if (!(seen >> bit & 1)) return 64 * word + bit;
    }
  }
  return -1;
}

// Until there are none. Was there one?
bool ThreadPool::take_parts(Lane& lane, int own) {
  bool took_some = false;
  for (int taken; (taken = lane.take(own)) >= 0; took_some = true) {
    // As long as the part has not ended, this is its region.
    for (int k = taken; k < lane.count; k += kMostThreads) lane.part(lane.work, k);
    if (lane.left.fetch_sub(1, std::memory_order_acq_rel) == (kCallerSleeps | 1)) futex_wake(lane.left, 1);
  }
  return took_some;
}

// Threads begin at different lanes, so that each caller finds some.
bool ThreadPool::take_parts_of_all(int own) {
  bool took_some = false;
  const int lanes = lane_count_.load(std::memory_order_acquire);
  for (int k = 0; k < lanes; k++) took_some |= take_parts(lanes_[(own + k) % lanes], own);
  return took_some;
}

void* ThreadPool::work(void* argument) {
  const Worker& self = *static_cast<Worker*>(argument);
  ThreadPool& pool = *self.pool;
  uint32_t seen = pool.epoch_.load(std::memory_order_acquire) - 1;  // there may be a region already
  // Looking for the next region pays where one soon comes and has a part left. Where that is not
  // so, it becomes rare: what was done in vain costs trust, and sleeping regains it.
  constexpr int kMostTrust = 64, kEnoughTrust = 32, kCostOfAVainLook = 32, kCostOfNoPart = 1, kGain = 4;
  int trust = kMostTrust;
  const auto gain = [&](int more) {
    trust += more;
    if (trust > kMostTrust) trust = kMostTrust;
    if (trust < 0) trust = 0;
  };
  while (!pool.stop_.load(std::memory_order_acquire)) {
    const uint32_t epoch = pool.epoch_.load(std::memory_order_acquire);
    if (epoch != seen) {
      gain(pool.take_parts_of_all(self.index + 1) ? kGain : -kCostOfNoPart);
      seen = epoch;
      continue;
    }
    if (trust >= kEnoughTrust && pool.expects_more()) {
      const Look look =
          look_for([&] { return pool.epoch_.load(std::memory_order_acquire) != seen || !pool.expects_more(); }, kLookNanoseconds);
      if (look == Look::found) {
        if (pool.expects_more()) continue;
      } else {
        gain(look == Look::was_away ? -kMostTrust : -kCostOfAVainLook);
      }
    } else {
      gain(kGain);
    }
    pool.sleep_until_epoch_after(seen);
  }
  return nullptr;
}

void ThreadPool::sleep_until_epoch_after(uint32_t epoch) {
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  if (epoch_.load(std::memory_order_seq_cst) == epoch) futex_wait(epoch_, epoch);
  sleepers_.fetch_sub(1, std::memory_order_seq_cst);
}

// For a region that wants so many, beside those of the other regions under way.
void ThreadPool::start_threads(int helpers) {
  const int all = wanted_.fetch_add(helpers, std::memory_order_relaxed) + helpers;
  const int most = helpers > processors_ - 1 ? helpers : processors_ - 1;
  int wanted = all < most ? all : most;
  if (wanted > kMostThreads - 1) wanted = kMostThreads - 1;
  if (started_.load(std::memory_order_relaxed) >= wanted) return;
  pthread_mutex_lock(&starting_);
  // Signals are the program's: its own threads are to get them.
  sigset_t all_signals, before;
  sigfillset(&all_signals);
  pthread_sigmask(SIG_SETMASK, &all_signals, &before);
  int started = started_.load(std::memory_order_relaxed);
  for (int error = 0; started < wanted && error == 0 && !is_over_;) {
    Worker& worker = workers_[started];
    worker = {this, {}, started};
    error = pthread_create(&worker.id, nullptr, work, &worker);
    if (error == 0) started_.store(++started, std::memory_order_relaxed);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);  // with fewer threads, or none, the caller takes all the parts
  pthread_mutex_unlock(&starting_);
}

void ThreadPool::end_threads() {
  notice_fork();
  pthread_mutex_lock(&starting_);
  stop_.store(true, std::memory_order_seq_cst);
  epoch_.fetch_add(1, std::memory_order_seq_cst);  // so that one who is about to sleep does not
  futex_wake(epoch_, kMostThreads);
  const int started = started_.load(std::memory_order_relaxed);
  for (int k = 0; k < started; k++) pthread_join(workers_[k].id, nullptr);
  started_.store(0, std::memory_order_relaxed);
  stop_.store(false, std::memory_order_relaxed);
  pthread_mutex_unlock(&starting_);
}

void ThreadPool::end_for_good() {
  notice_fork();
  pthread_mutex_lock(&starting_);
  is_over_ = true;
  pthread_mutex_unlock(&starting_);
  end_threads();
}

// Before the lock is taken, which a thread of the parent may have held.
void ThreadPool::notice_fork() {
  fork_mark_.is_sound([this] {
    forget_parent();
    return true;
  });
}

// In a child of fork(), where the threads of the parent are not, nor the callers of its regions:
// those have no parts any more, so that nobody takes one.
void ThreadPool::forget_parent() {
  for (Lane& lane : lanes_) {
    lane.close();
    lane.is_taken.store(0, std::memory_order_relaxed);
  }
  started_.store(0, std::memory_order_relaxed);
  sleepers_.store(0, std::memory_order_relaxed);
  expecting_.store(0, std::memory_order_relaxed);
  wanted_.store(0, std::memory_order_relaxed);
  stop_.store(false, std::memory_order_relaxed);
  starting_ = PTHREAD_MUTEX_INITIALIZER;
}

}  // namespace ingot
