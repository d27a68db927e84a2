#include "tensor/random.hpp"

#include "ingot/ingot.hpp"

namespace ingot {

Draw Generator::state() const {
  std::scoped_lock lock(mutex_);
  return state_;
}

void Generator::set_state(Draw state) {
  std::scoped_lock lock(mutex_);
  state_ = state;
}

Draw Generator::next() {
  std::scoped_lock lock(mutex_);
  const Draw d = state_;
  state_.offset++;
  return d;
}

const Ref<Generator>& default_generator() {
  static const Ref<Generator> g = make_ref<Generator>();
  return g;
}

void manual_seed(uint64_t seed) { default_generator()->manual_seed(seed); }

}  // namespace ingot
