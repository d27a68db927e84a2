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

namespace {

thread_local Ref<Generator> own_stream;  // null: the one that all threads share

}  // namespace

const Ref<Generator>& default_generator() {
  static const Ref<Generator> g = make_ref<Generator>();
  return own_stream ? own_stream : g;
}

OwnStream::OwnStream() : outer_(own_stream) {
  Ref<Generator> copy = make_ref<Generator>();
  copy->set_state(default_generator()->state());
  own_stream = std::move(copy);
}
OwnStream::~OwnStream() { own_stream = std::move(outer_); }

void manual_seed(uint64_t seed) { default_generator()->manual_seed(seed); }

}  // namespace ingot
