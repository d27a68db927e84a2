// LLVM's process-wide state: the registered targets and the command-line options, which a link by
// lld resets. Whoever runs LLVM holds an LlvmUse, any number at a time; a link holds an LlvmLink,
// alone. Both begin with the options in place.
#pragma once
#include <mutex>
#include <shared_mutex>

namespace ingot {

class LlvmUse {
 public:
  LlvmUse();

 private:
  std::shared_lock<std::shared_mutex> lock_;
};

class LlvmLink {
 public:
  LlvmLink();
  ~LlvmLink();
  LlvmLink(const LlvmLink&) = delete;
  LlvmLink& operator=(const LlvmLink&) = delete;

 private:
  std::unique_lock<std::shared_mutex> lock_;
};

}  // namespace ingot
