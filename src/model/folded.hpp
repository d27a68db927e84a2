// Folded constants: what is computed once from a set of constants, weights laid out for the
// processor among it. All containers of the library in this process whose constants are as they
// came with it use the same ones; the first that needs them computes them. From when somebody was
// handed a tensor over such constants, and may write there, each container computes its own.
// Whoever has a pointer to some has a use of them, to be given back by release().
#pragma once
#include <sys/types.h>

#include <atomic>

#include "model/device.hpp"
#include "model/lock.hpp"
#include "model/memory.hpp"
#include "model/weights.hpp"

namespace ingot::model {

// What the numbers of shared ones depend on.
struct FoldedOrigin {
  WeightsVersion weights;
  uint64_t level = 0;  // of the code that computes them

  bool operator==(const FoldedOrigin&) const = default;
};

class Folded {
 public:
  explicit Folded(Device device) : device_(device) {}
  ~Folded();
  Folded(const Folded&) = delete;
  Folded& operator=(const Folded&) = delete;

  // Of one container alone. Null after a failure.
  static Folded* make(const Device& device);
  // Of all who name the same origin: waits where somebody is at work on them. Who gets them unmade
  // is the one to make them. On the CPU. Null after a failure.
  static Folded* share(const FoldedOrigin& origin);
  // A use less; the last one frees the memory.
  void release();

  bool is_made() const { return state_.load(std::memory_order_acquire) == State::made; }
  // Memory of folded constant k, for its maker. Null after a failure.
  void* allocate(uint32_t k, uint64_t bytes, void* stream);
  // By the maker, once, and before its release: after a failure the next one to ask is the maker.
  void end_making(bool is_well);

  void* const* elements() const { return elements_.data(); }
  uint64_t bytes() const { return bytes_; }
  bool has_other_users() const { return users_.load(std::memory_order_relaxed) > 1; }

 private:
  enum class State : uint32_t { unmade, made, failed };

  static Folded* find(const FoldedOrigin& origin, Folded* otherwise);
  void unlist();

  Device device_;
  Array<void*> elements_;  // in the order of the program's folded constants
  uint64_t bytes_ = 0;
  std::atomic<State> state_{State::unmade};
  std::atomic<uint32_t> users_{1};

  // Of shared ones.
  FoldedOrigin origin_;
  Folded* next_ = nullptr;
  pid_t maker_ = 0;
  Mutex making_;  // the maker's until it ends
};

}  // namespace ingot::model
