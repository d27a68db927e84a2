#include "base/thread_pool.hpp"

#include <sched.h>
#include <signal.h>
#include <time.h>

#include "base/futex.hpp"

namespace ingot {
namespace {

static_assert(std::atomic<uint64_t>::is_always_lock_free);

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

// How long a thread looks for the next region. Longer burns the caller's core where another process
// has the other one.
constexpr int64_t kSpinNanoseconds = 20000;

constexpr uint32_t epoch_of(uint64_t ticket) { return static_cast<uint32_t>(ticket >> 32); }
constexpr uint32_t part_of(uint64_t ticket) { return static_cast<uint32_t>(ticket); }

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

  // The region before the last one had this place. All its parts are done, so nobody reads more of
  // it than `count`.
  const uint32_t epoch = epoch_of(lane->ticket.load(std::memory_order_relaxed)) + 1;
  const auto parts = static_cast<uint32_t>(count);
  Region& region = lane->regions[epoch & 1];
  region.part = part;
  region.work = work;
  region.count.store(parts, std::memory_order_relaxed);
  region.done.store(0, std::memory_order_relaxed);
  region.caller_sleeps.store(0, std::memory_order_relaxed);
  lane->ticket.store(uint64_t{epoch} << 32, std::memory_order_release);
  // A thread first counts itself as asleep and then looks at the epoch; here it is the other way
  // round: one sees the other.
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0) futex_wake(epoch_, helpers);

  take_parts(*lane);
  for (int looks = 0; region.done.load(std::memory_order_acquire) != parts; looks++) {
    if (looks < 200) {
      pause_a_little();
      continue;
    }
    region.caller_sleeps.store(1, std::memory_order_seq_cst);
    const uint32_t done = region.done.load(std::memory_order_seq_cst);
    if (done != parts) futex_wait(region.done, done);
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

// Takes parts of the region that the ticket names until there are none. Was there one?
bool ThreadPool::take_parts(Lane& lane) {
  bool took_some = false;
  uint64_t ticket = lane.ticket.load(std::memory_order_acquire);
  for (;;) {
    Region& region = lane.regions[epoch_of(ticket) & 1];
    // If the region changes between this look and the exchange, the ticket has changed too and the
    // exchange fails.
    const uint32_t count = region.count.load(std::memory_order_relaxed);
    if (part_of(ticket) >= count) return took_some;
    if (!lane.ticket.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel, std::memory_order_acquire)) continue;

    took_some = true;
    region.part(region.work, static_cast<int32_t>(part_of(ticket)));
    if (region.done.fetch_add(1, std::memory_order_seq_cst) + 1 == count &&
        region.caller_sleeps.load(std::memory_order_seq_cst)) {
      futex_wake(region.done, 1);
    }
    ticket = lane.ticket.load(std::memory_order_acquire);
  }
}

// Threads begin at different lanes, so that each caller finds some.
bool ThreadPool::take_parts_of_all(int first) {
  bool took_some = false;
  const int lanes = lane_count_.load(std::memory_order_acquire);
  for (int k = 0; k < lanes; k++) took_some |= take_parts(lanes_[(first + k) % lanes]);
  return took_some;
}

void* ThreadPool::work(void* argument) {
  const Worker& self = *static_cast<Worker*>(argument);
  ThreadPool& pool = *self.pool;
  uint32_t seen = pool.epoch_.load(std::memory_order_acquire) - 1;  // there may be a region already
  bool had_work = false;
  // Looking for the next region pays where one soon comes. Where it does not, as on a machine that
  // is busy with other things (there the thread may even keep the caller from its core), it becomes
  // rare: a look in vain costs as much trust as eight sleeps regain.
  constexpr int kMostTrust = 16, kCostOfAVainLook = 8;
  int trust = kMostTrust;
  while (!pool.stop_.load(std::memory_order_acquire)) {
    const uint32_t epoch = pool.epoch_.load(std::memory_order_acquire);
    if (epoch != seen) {
      had_work = pool.take_parts_of_all(self.index);
      seen = epoch;
      continue;
    }
    auto more_is_expected = [&] { return pool.expecting_.load(std::memory_order_relaxed) > 0; };
    const bool looks = had_work && trust >= kCostOfAVainLook && more_is_expected();
    const bool found = looks && pool.look_for_epoch_after(seen);
    if (looks && !found && more_is_expected()) trust -= kCostOfAVainLook;
    else if (trust < kMostTrust) trust++;
    if (!found) pool.sleep_until_epoch_after(seen);
  }
  return nullptr;
}

// For as long as more is expected, and not for long. Has there come one?
bool ThreadPool::look_for_epoch_after(uint32_t epoch) const {
  const int64_t end = nanoseconds() + kSpinNanoseconds;
  do {
    for (int i = 0; i < 16; i++) {
      if (epoch_.load(std::memory_order_acquire) != epoch) return true;
      pause_a_little();
    }
  } while (expecting_.load(std::memory_order_relaxed) > 0 && nanoseconds() < end);
  return false;
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
    const uint32_t epoch = epoch_of(lane.ticket.load(std::memory_order_relaxed)) + 1;
    lane.regions[epoch & 1].count.store(0, std::memory_order_relaxed);
    lane.ticket.store(uint64_t{epoch} << 32, std::memory_order_relaxed);
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
