#include "ingot/state.hpp"

#include <cstring>

#include "base/error.hpp"
#include "op/call.hpp"
#include "tensor/random.hpp"

namespace ingot {

bool are_deterministic_algorithms_enabled() { return thread_state().deterministic; }
DeterministicGuard::DeterministicGuard(bool on) : old_(thread_state().deterministic) { thread_state().deterministic = on; }
DeterministicGuard::~DeterministicGuard() { thread_state().deterministic = old_; }

Tensor get_rng_state() {
  const Draw d = default_generator()->state();
  const Tensor t = make_tensor(Geometry::contiguous({static_cast<int64_t>(sizeof(Draw))}, DType::u8));
  std::memcpy(t.data_ptr(), &d, sizeof(d));
  return t;
}
void set_rng_state(const Tensor& state) {
  INGOT_REQUIRE(state.dtype() == DType::u8, "RNG state must be a torch.ByteTensor, found ", state.dtype());
  INGOT_REQUIRE(state.is_contiguous() && state.numel() == static_cast<int64_t>(sizeof(Draw)),
                "RNG state is wrong size: expected ", sizeof(Draw), " bytes in a row, as get_rng_state() gives them, found ",
                state.sizes(), " with strides ", state.strides());
  Draw d;
  std::memcpy(&d, state.data_ptr(), sizeof(d));
  default_generator()->set_state(d);
}

ForkRng::ForkRng() {
  const Draw d = default_generator()->state();
  seed_ = d.seed;
  offset_ = d.offset;
}
ForkRng::~ForkRng() { default_generator()->set_state({seed_, offset_}); }

AutocastState autocast_state() {
  const ThreadState& ts = thread_state();
  return {(ts.active & layer_bit(Layer::autocast)) != 0, ts.autocast_dtype};
}
void set_autocast_state(const AutocastState& state) {
  INGOT_REQUIRE(state.dtype == DType::bf16 || state.dtype == DType::f16, "autocast takes bfloat16 or float16, found ",
                state.dtype);
  ThreadState& ts = thread_state();
  const unsigned bit = layer_bit(Layer::autocast);
  ts.active = static_cast<uint8_t>(state.enabled ? ts.active | bit : ts.active & ~bit);
  ts.autocast_dtype = state.dtype;
}

}  // namespace ingot
