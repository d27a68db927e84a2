// The function of a program's that lines of the log go to.
#pragma once
#include <atomic>

#include "base/process_lock.hpp"
#include "ingot/abi.h"

namespace ingot {

// One call of it at a time. A fork in the middle of one keeps nobody in the child from his own.
class LogFunction {
 public:
  // When it returns the one before is called no more. Null: there is none.
  void set(ingot_log_function write, void* context) {
    const ProcessLock::Hold hold(lock_);
    write_.store(nullptr, std::memory_order_relaxed);  // no fork has the one with the context of the other
    context_.store(context, std::memory_order_release);
    write_.store(write, std::memory_order_release);
  }

  // Calls `otherwise` where there is no function, no less one at a time.
  template <class Otherwise>
  void call(ingot_log_level level, const char* line, Otherwise otherwise) {
    const ProcessLock::Hold hold(lock_);
    if (const ingot_log_function write = write_.load(std::memory_order_relaxed))
      write(context_.load(std::memory_order_relaxed), level, line);
    else otherwise();
  }

 private:
  ProcessLock lock_;
  std::atomic<ingot_log_function> write_{nullptr};
  std::atomic<void*> context_{nullptr};
};

}  // namespace ingot
