// Who looks on while a tensor's data is read.
#pragma once
#include "op/call.hpp"
#include "tensor/impl.hpp"

namespace ingot {

// Whether reading the tensor's data is a call that somebody must see: a tensor without bytes of its
// own, or a layer that follows the program (neither the tape nor autocast does).
inline bool is_followed(const Tensor& t) {
  const ThreadState& ts = thread_state();
  const unsigned still_to_act =
      ~(unsigned{layer_bit(ts.layer)} - 1u) & ~unsigned{layer_bit(Layer::autograd)} & ~unsigned{layer_bit(Layer::autocast)};
  return t->is_fake() || ((ts.active | t->layers) & still_to_act) != 0;
}

}  // namespace ingot
