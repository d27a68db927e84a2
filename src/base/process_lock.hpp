// A lock of the whole process that a child of fork() takes over: the thread of the parent that held
// it is not there to open it.
#pragma once
#include <stdint.h>
#include <unistd.h>

#include <atomic>

#include "base/futex.hpp"

namespace ingot {

// For what is whole after every store, since a fork may come after any. It needs neither a
// constructor nor a destructor to run, so it may be a variable of a library.
class ProcessLock {
 public:
  class Hold {
   public:
    explicit Hold(ProcessLock& lock) : lock_(lock) { lock_.lock(); }
    ~Hold() { lock_.unlock(); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    ProcessLock& lock_;
  };

 private:
  static constexpr uint32_t kAwaited = uint32_t{1} << 31;  // no process has so high a number

  void lock() {
    const auto own = static_cast<uint32_t>(getpid());
    uint32_t mine = own, seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      if ((seen & ~kAwaited) != own) {  // nobody's, or of a process that this one was forked from
        if (word_.compare_exchange_weak(seen, mine, std::memory_order_acquire, std::memory_order_relaxed)) return;
      } else if (seen == own) {
        if (word_.compare_exchange_weak(seen, own | kAwaited, std::memory_order_relaxed)) seen = own | kAwaited;
      } else {
        futex_wait(word_, seen);
        mine = own | kAwaited;  // others may sleep, too
        seen = word_.load(std::memory_order_relaxed);
      }
    }
  }
  void unlock() {
    if (word_.exchange(0, std::memory_order_release) & kAwaited) futex_wake(word_, 1);
  }

  std::atomic<uint32_t> word_{0};  // the process that has it; 0: none
};

}  // namespace ingot
