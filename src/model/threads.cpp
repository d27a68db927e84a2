#include "model/threads.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace ingot::model {
namespace {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) && std::atomic<uint64_t>::is_always_lock_free);

// Sleeps while the word has that value; may also wake for no reason.
void futex_wait(std::atomic<uint32_t>& word, uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void futex_wake(std::atomic<uint32_t>& word, int count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

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

// How long a worker looks for the next region of a run. Longer burns the caller's core where
// another process has the other one.
constexpr int64_t kSpinNanoseconds = 20000;

int default_count(int most) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  const int count = CPU_COUNT(&set);
  return count < 1 ? 1 : count < most ? count : most;
}

constexpr uint32_t epoch_of(uint64_t ticket) { return static_cast<uint32_t>(ticket >> 32); }
constexpr uint32_t item_of(uint64_t ticket) { return static_cast<uint32_t>(ticket); }

}  // namespace

Threads::Threads() : count_(default_count(kMostThreads)) {}

Threads::~Threads() { stop_workers(); }

bool Threads::take_environment() {
  const char* text = getenv("INGOT_NUM_THREADS");
  if (!text || !*text) return true;
  int count = 0;
  const char* c = text;
  for (; *c >= '0' && *c <= '9'; c++) count = count < kMostThreads ? 10 * count + (*c - '0') : kMostThreads;
  if (*c || count < 1) return fail("INGOT_NUM_THREADS: expected a whole number from 1, found '%s'", text);
  count_.store(count < kMostThreads ? count : kMostThreads, std::memory_order_relaxed);
  return true;
}

bool Threads::set_count(int count) {
  if (count < 1 || count > kMostThreads) return fail("number of threads: expected 1 to %d, found %d", kMostThreads, count);
  Lock lock(caller_);
  if (count < this->count()) stop_workers();  // those that are still wanted start again with the next region
  count_.store(count, std::memory_order_relaxed);
  return true;
}

bool Threads::run(ingot_kernel* kernel, void* const* buffers, const int64_t* symbols, char* scratch, uint64_t scratch_bytes,
                  int64_t tasks, int64_t grain) {
  if (tasks <= 0) return true;
  if (grain < 1) grain = 1;
  constexpr int64_t kMostItems = 1 << 30;
  if ((tasks - 1) / grain >= kMostItems) grain = (tasks - 1) / kMostItems + 1;
  const auto items = static_cast<uint32_t>((tasks - 1) / grain + 1);
  if (items == 1 || count() == 1 || !caller_.try_lock()) {
    kernel(buffers, symbols, scratch, 0, tasks);
    return true;
  }
  const int helpers = static_cast<int>(items) - 1 < count() - 1 ? static_cast<int>(items) - 1 : count() - 1;
  char* helper_scratch = scratch_.at_least(scratch_bytes * static_cast<uint64_t>(count() - 1));
  if (!helper_scratch) {
    caller_.unlock();
    return false;
  }
  start_workers(helpers);

  // The region before the last one had this place. All its items are done, so nobody reads more of
  // it than `items`.
  const uint64_t ticket = ticket_.load(std::memory_order_relaxed);
  const uint32_t epoch = epoch_of(ticket) + 1;
  Region& region = regions_[epoch & 1];
  region.kernel = kernel;
  region.buffers = buffers;
  region.symbols = symbols;
  region.scratch = helper_scratch;
  region.scratch_bytes = scratch_bytes;
  region.tasks = tasks;
  region.grain = grain;
  region.items.store(items, std::memory_order_relaxed);
  region.done.store(0, std::memory_order_relaxed);
  region.caller_sleeps.store(0, std::memory_order_relaxed);
  ticket_.store(uint64_t{epoch} << 32, std::memory_order_release);
  // A worker first counts itself as asleep and then looks at the epoch; here it is the other way
  // round: one sees the other.
  epoch_.store(epoch, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0) futex_wake(epoch_, helpers);

  take_items([&](const Region&) { return scratch; });
  for (int looks = 0; region.done.load(std::memory_order_acquire) != items; looks++) {
    if (looks < 200) {
      pause_a_little();
      continue;
    }
    region.caller_sleeps.store(1, std::memory_order_seq_cst);
    const uint32_t done = region.done.load(std::memory_order_seq_cst);
    if (done != items) futex_wait(region.done, done);
  }
  caller_.unlock();
  return true;
}

// Takes items of the region that the ticket names until there are none. Was there one?
template <class ScratchOf>
bool Threads::take_items(ScratchOf scratch_of) {
  bool took_some = false;
  uint64_t ticket = ticket_.load(std::memory_order_acquire);
  for (;;) {
    Region& region = regions_[epoch_of(ticket) & 1];
    // If the region changes between this look and the exchange, the ticket has changed too and the
    // exchange fails.
    const uint32_t items = region.items.load(std::memory_order_relaxed);
    if (item_of(ticket) >= items) return took_some;
    if (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel, std::memory_order_acquire)) continue;

    took_some = true;
    const int64_t begin = item_of(ticket) * region.grain;
    const int64_t end = region.tasks - begin < region.grain ? region.tasks : begin + region.grain;
    region.kernel(region.buffers, region.symbols, scratch_of(region), begin, end);
    if (region.done.fetch_add(1, std::memory_order_seq_cst) + 1 == items &&
        region.caller_sleeps.load(std::memory_order_seq_cst)) {
      futex_wake(region.done, 1);
    }
    ticket = ticket_.load(std::memory_order_acquire);
  }
}

void* Threads::work(void* argument) {
  Worker& self = *static_cast<Worker*>(argument);
  Threads& threads = *self.threads;
  auto own_scratch = [&](const Region& r) { return r.scratch + static_cast<uint64_t>(self.index) * r.scratch_bytes; };
  uint32_t seen = threads.epoch_.load(std::memory_order_acquire) - 1;  // there may be a region already
  bool had_work = false;
  // Looking for the next region pays where one soon comes. Where it does not, as on a machine that
  // is busy with other things (there the worker may even keep the caller from its core), it becomes
  // rare: a look in vain costs as much trust as eight sleeps regain.
  constexpr int kMostTrust = 16, kCostOfAVainLook = 8;
  int trust = kMostTrust;
  while (!threads.stop_.load(std::memory_order_acquire)) {
    const uint32_t epoch = threads.epoch_.load(std::memory_order_acquire);
    if (epoch != seen) {
      had_work = threads.take_items(own_scratch);
      seen = epoch;
      continue;
    }
    auto run_is_under_way = [&] { return threads.runs_.load(std::memory_order_relaxed) > 0; };
    const bool looks = had_work && trust >= kCostOfAVainLook && run_is_under_way();
    const bool found = looks && threads.look_for_epoch_after(seen);
    if (looks && !found && run_is_under_way()) trust -= kCostOfAVainLook;
    else if (trust < kMostTrust) trust++;
    if (!found) threads.sleep_until_epoch_after(seen);
  }
  return nullptr;
}

// For as long as a run is under way, and not for long. Has there come one?
bool Threads::look_for_epoch_after(uint32_t epoch) const {
  const int64_t end = nanoseconds() + kSpinNanoseconds;
  do {
    for (int i = 0; i < 16; i++) {
      if (epoch_.load(std::memory_order_acquire) != epoch) return true;
      pause_a_little();
    }
  } while (runs_.load(std::memory_order_relaxed) > 0 && nanoseconds() < end);
  return false;
}

void Threads::sleep_until_epoch_after(uint32_t epoch) {
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  if (epoch_.load(std::memory_order_seq_cst) == epoch) futex_wait(epoch_, epoch);
  sleepers_.fetch_sub(1, std::memory_order_seq_cst);
}

// With caller_ held.
void Threads::start_workers(int wanted) {
  const int process = getpid();
  if (process_ != process) {  // none yet, or this is a fork, where the threads of the parent do not exist
    started_ = 0;
    sleepers_.store(0, std::memory_order_relaxed);
    process_ = process;
  }
  if (started_ >= wanted) return;
  // Signals are the program's: its own threads are to get them.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = 0;
  while (started_ < wanted && error == 0) {
    Worker& worker = workers_[started_];
    worker = {this, {}, started_};
    error = pthread_create(&worker.id, nullptr, work, &worker);
    if (error == 0) started_++;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);  // with fewer workers, or none, the caller takes all the items
}

// With caller_ held, or by the destructor.
void Threads::stop_workers() {
  if (process_ == getpid()) {
    stop_.store(true, std::memory_order_seq_cst);
    // The epoch changes too, so that one who is about to sleep does not; the ticket follows, so
    // that it names no items.
    const uint32_t epoch = epoch_.load(std::memory_order_relaxed) + 1;
    regions_[epoch & 1].items.store(0, std::memory_order_relaxed);
    ticket_.store(uint64_t{epoch} << 32, std::memory_order_release);
    epoch_.store(epoch, std::memory_order_seq_cst);
    futex_wake(epoch_, kMostThreads);
    for (int i = 0; i < started_; i++) pthread_join(workers_[i].id, nullptr);
    stop_.store(false, std::memory_order_relaxed);
  }
  started_ = 0;
}

}  // namespace ingot::model
