#include "model/threads.hpp"

#include <stdlib.h>

#include "base/given_pool.hpp"

namespace ingot::model {
namespace {

constexpr int kMostThreads = ThreadPool::kMostThreads;

constexpr int at_most(int count, int most) { return count < most ? count : most; }

// The pool as others are given it.
ingot_thread_pool pool_over(ThreadPool& threads) {
  return {
      sizeof(ingot_thread_pool),
      &threads,
      [](void* pool, void (*part)(void*, int32_t), void* work, int32_t count) {
        static_cast<ThreadPool*>(pool)->run(part, work, count);
      },
      [](void* pool) { static_cast<ThreadPool*>(pool)->begin(); },
      [](void* pool) { static_cast<ThreadPool*>(pool)->end(); },
  };
}

// Items that one part begins with: the next of them, and where they end.
struct alignas(64) Stretch {
  int64_t first, end;  // `first` by all parts, whence next()
  std::atomic_ref<int64_t> next() { return std::atomic_ref(first); }
};

// A kernel's tasks. Each part has items of its own, one after the other: neighbours look at the
// same columns of a product, say, which should come from memory to one processor, not to all of
// them at the same time. Who is done with its own helps the parts after it.
struct Region {
  static constexpr int kWords = kMostThreads / 64;

  ingot_kernel* kernel;
  void* const* buffers;
  const int64_t* symbols;
  char* scratch;  // of the parts, one after the other
  uint64_t scratch_bytes;
  int64_t tasks, grain;
  int32_t parts;
  // A bit for each stretch that has no items left: so that who looks for some reads one line of
  // memory, rather than one for each stretch, which others have.
  alignas(64) uint64_t empty[kWords];
  Stretch stretches[kMostThreads];

  void share(int64_t items) {
    for (int word = 0; word < kWords; word++) {
      const int32_t bits = parts - 64 * word;
      empty[word] = bits >= 64 ? 0 : bits > 0 ? ~uint64_t{0} << bits : ~uint64_t{0};
    }
    for (int64_t k = 0, begin = 0; k < parts; k++) {
      stretches[k].first = begin;
      begin += items / parts + (k < items % parts);
      stretches[k].end = begin;
    }
  }

  void mark_empty(int32_t stretch) {
    const std::atomic_ref word(empty[stretch / 64]);
    const uint64_t bit = uint64_t{1} << stretch % 64;
    if (!(word.load(std::memory_order_relaxed) & bit)) word.fetch_or(bit, std::memory_order_relaxed);
  }

  // The first one after `part` that has items, as far as is known; negative: none has.
  int32_t stretch_after(int32_t part) {
    for (int k = 0; k <= kWords; k++) {
      const int word = (part / 64 + k) % kWords;
      uint64_t open = ~std::atomic_ref(empty[word]).load(std::memory_order_relaxed);
      if (k == 0) open &= ~uint64_t{1} << part % 64;  // those before it come last
      if (open) return 64 * word + __builtin_ctzll(open);
    }
    return -1;
  }
};

void take_items(void* work, int32_t part) {
  Region& region = *static_cast<Region*>(work);
  char* scratch = region.scratch + static_cast<uint64_t>(part) * region.scratch_bytes;
  for (int32_t k = part; k >= 0; k = region.stretch_after(part)) {
    Stretch& stretch = region.stretches[k];
    // The look saves others the place that an exchange takes from them.
    while (stretch.next().load(std::memory_order_relaxed) < stretch.end) {
      const int64_t item = stretch.next().fetch_add(1, std::memory_order_relaxed);
      if (item >= stretch.end) break;
      const int64_t begin = item * region.grain;
      const int64_t end = region.tasks - begin < region.grain ? region.tasks : begin + region.grain;
      region.kernel(region.buffers, region.symbols, scratch, begin, end);
    }
    region.mark_empty(k);
  }
}

}  // namespace

Threads::Threads() : count_(at_most(processor_count(), kMostThreads)), pool_(pool_over(own_)) {}

bool Threads::take_environment() {
  const char* text = getenv("INGOT_NUM_THREADS");
  if (!text || !*text) return true;
  int count = 0;
  const char* c = text;
  for (; *c >= '0' && *c <= '9'; c++) count = count < kMostThreads ? 10 * count + (*c - '0') : kMostThreads;
  if (*c || count < 1) return fail("INGOT_NUM_THREADS: expected a whole number from 1, found '%s'", text);
  count_.store(at_most(count, kMostThreads), std::memory_order_relaxed);
  return true;
}

bool Threads::set_count(int count) {
  if (count < 1 || count > kMostThreads) return fail("number of threads: expected 1 to %d, found %d", kMostThreads, count);
  if (count < this->count()) own_.end_threads();  // those that are still wanted start again with the next region
  count_.store(count, std::memory_order_relaxed);
  return true;
}

bool Threads::set_pool(const ingot_thread_pool* pool) {
  ingot_thread_pool taken = pool_over(own_);
  if (pool) {
    char why[256];
    if (!read_pool(*pool, &taken, why)) return fail("%s", why);
  }
  pool_ = taken;
  return true;
}

bool ThreadsOfRun::run(ingot_kernel* kernel, void* const* buffers, const int64_t* symbols, Workspace& scratch,
                       uint64_t scratch_bytes, int64_t tasks, int64_t grain) {
  if (tasks <= 0) return true;
  if (grain < 1) grain = 1;
  const int64_t items = (tasks - 1) / grain + 1;
  const int parts = items < count_ ? static_cast<int>(items) : count_;
  char* memory = scratch.at_least(scratch_bytes * static_cast<uint64_t>(parts));
  if (!memory) return false;
  if (parts == 1) {
    kernel(buffers, symbols, memory, 0, tasks);
    return true;
  }
  if (!has_begun_ && pool_.begin) pool_.begin(pool_.context);
  has_begun_ = true;
  Region region;  // most of the stretches stay as they are
  region.kernel = kernel;
  region.buffers = buffers;
  region.symbols = symbols;
  region.scratch = memory;
  region.scratch_bytes = scratch_bytes;
  region.tasks = tasks;
  region.grain = grain;
  region.parts = parts;
  region.share(items);
  pool_.parallel_for(pool_.context, take_items, &region, parts);
  return true;
}

}  // namespace ingot::model
