// A function that whoever comes first runs, and the others wait for.
#pragma once
#include <atomic>
#include <mutex>
#include <utility>

namespace ingot {

// Where the function throws, the next one runs it again. std::call_once promises that too, but with
// the thread sanitizer (and some C libraries) whoever comes after an exception waits forever.
class Once {
 public:
  template <class F>
  void run(F&& f) {
    if (done_.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(mutex_);
    if (done_.load(std::memory_order_relaxed)) return;
    std::forward<F>(f)();
    done_.store(true, std::memory_order_release);
  }

 private:
  std::atomic<bool> done_ = false;
  std::mutex mutex_;
};

}  // namespace ingot
