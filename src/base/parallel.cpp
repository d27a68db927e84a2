#include "base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/process_pool.hpp"

namespace ingot {
namespace {

constexpr int kMostThreads = ThreadPool::kMostThreads;

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
  return std::min(processor_count(), kMostThreads);
}

std::atomic<int>& thread_count() {
  static std::atomic<int> count = default_threads();
  return count;
}

thread_local bool inside_region = false;

// Pieces of one call: piece k is `step` long and begins k steps behind the first.
struct Region {
  int64_t begin, end, step;
  void (*fn)(void*, int64_t, int64_t);
  void* ctx;
  std::mutex mutex = {};
  std::exception_ptr error = nullptr;
};

void run_piece(void* work, int32_t k) {
  Region& region = *static_cast<Region*>(work);
  const int64_t begin = region.begin + k * region.step;
  const bool was_inside = std::exchange(inside_region, true);
  try {
    region.fn(region.ctx, begin, std::min(region.end, begin + region.step));
  } catch (...) {
    const std::lock_guard lock(region.mutex);
    if (!region.error) region.error = std::current_exception();
  }
  inside_region = was_inside;
}

}  // namespace

int num_threads() { return thread_count().load(std::memory_order_relaxed); }
void set_num_threads(int n) { thread_count().store(std::clamp(n, 1, kMostThreads), std::memory_order_relaxed); }

void detail::parallel_run(int64_t begin, int64_t end, int64_t grain, void (*fn)(void*, int64_t, int64_t), void* ctx) {
  const int n = num_threads();
  if (n == 1 || inside_region) return fn(ctx, begin, end);
  Region region{begin, end, std::max(grain, (end - begin + n - 1) / n), fn, ctx};
  process_pool().run(run_piece, &region, static_cast<int32_t>((end - begin - 1) / region.step + 1));
  if (region.error) std::rethrow_exception(region.error);
}

}  // namespace ingot
