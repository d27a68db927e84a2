// Random streams. A random op takes one draw of a generator: (seed, offset), and offsets are never
// reused. Element i of its result, in row-major order, is a pure function of (seed, offset, i), so
// one seed gives the same numbers on every machine and for any number of threads.
//
//   const auto stream = make_ref<Generator>(7);
//   Tensor x = aten<"randn.generator">(Shape{2, 3}, stream);   // ingot/op.hpp
//
// ingot/ingot.hpp has manual_seed and the ops of the default stream, ingot/state.hpp its state.
#pragma once
#include <cstdint>
#include <mutex>

#include "ingot/ref.hpp"

namespace ingot {

// Which numbers a random op gets; also the whole state of a generator, whose next draw it names.
struct Draw {
  uint64_t seed = 0, offset = 0;
  bool operator==(const Draw&) const = default;
};

// Safe to use from several threads; which thread gets which draw is then a matter of timing.
class Generator final : public Counted {
 public:
  static constexpr uint64_t kDefaultSeed = 67280421310721;  // PyTorch's

  explicit Generator(uint64_t seed = kDefaultSeed) : state_{seed, 0} {}

  void manual_seed(uint64_t seed) { set_state({seed, 0}); }
  uint64_t initial_seed() const { return state().seed; }
  // The draw that `next` will return; setting it repeats what followed when it was read.
  Draw state() const;
  void set_state(Draw state);
  Draw next();

 private:
  mutable std::mutex mutex_;
  Draw state_;
};

// The stream of every random op that names no generator.
const Ref<Generator>& default_generator();

}  // namespace ingot
