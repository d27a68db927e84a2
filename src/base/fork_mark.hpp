// Notices forks: where another thread was in the middle of something when the process was forked,
// the child has its half of that, and locks that nobody will open.
#pragma once
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

namespace ingot {

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

// A word that the kernel clears in forks, so that to look costs a load. Before Linux 4.14 it does
// not, and forks go unnoticed.
class ForkMark {
 public:
  ForkMark() {
    void* p = mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return;
    word_ = static_cast<std::atomic<uint32_t>*>(p);
    if (madvise(p, page_bytes(), MADV_WIPEONFORK) == 0) word_->store(kSound, std::memory_order_relaxed);
    else drop();
  }
  ~ForkMark() { drop(); }
  ForkMark(const ForkMark&) = delete;
  ForkMark& operator=(const ForkMark&) = delete;

  // Is what the mark is beside sound in this process? In a fork `was_idle` says so, once: one
  // thread asks it, the others wait.
  template <class WasIdle>
  bool is_sound(WasIdle was_idle) {
    if (!word_) return true;
    for (;;) {
      uint32_t state = word_->load(std::memory_order_acquire);
      if (state == kSound) [[likely]]
        return true;
      if (state == kBroken) return false;
      if (state == kUnknown && word_->compare_exchange_strong(state, kAsking)) {
        is_broken_ = is_broken_ || !was_idle();
        word_->store(is_broken_ ? kBroken : kSound, std::memory_order_release);
      } else {
        sched_yield();
      }
    }
  }

 private:
  enum : uint32_t { kUnknown = 0, kSound, kAsking, kBroken };

  static size_t page_bytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }
  void drop() {
    if (word_) munmap(word_, page_bytes());
    word_ = nullptr;
  }

  std::atomic<uint32_t>* word_ = nullptr;
  bool is_broken_ = false;  // forks of a broken one are broken
};

}  // namespace ingot
