// The one door. Every operator call, eager, traced, functionalized or faked, goes through `call`.
#pragma once
#include <cstdint>

#include "ingot/op/call.hpp"
#include "op/op.hpp"

namespace ingot {

// Layers, outermost first. A handler that acts calls the rest with `call_below(its layer, …)`.
enum class Layer : uint8_t {
  transform,      // vmap: batched tensors
  autocast,
  autograd,       // the tape, version counters, view records; always active
  functionalize,  // functional tensors
  mode,           // handlers a user pushed
  wrapper,        // tensors of a user's class
  trace,          // records a graph
  kernel,         // shape rule, then kernel
};
inline constexpr int kLayers = 8;
constexpr uint8_t layer_bit(Layer l) { return static_cast<uint8_t>(1u << static_cast<uint8_t>(l)); }

using Handler = Value (*)(const Op&, Args);
// Each folder installs the handler of its layer (autograd, transform, graph) before the first
// tensor or scope that needs it: any thread, as often as it likes, while others call. A missing
// handler is skipped.
void install_once(Layer layer, Handler handler);

// What a thread's calls see. Changed only through scope guards.
struct ThreadState {
  Layer layer = Layer::transform;        // the first layer that may still act
  uint8_t active = layer_bit(Layer::autograd);  // layers on whatever the arguments are
  bool grad_mode = true;
  bool inference_mode = false;
  bool keep_composites = false;          // composites that neither alias nor write go through the layers whole
  bool exporting = false;                // functionalized for export: conversions copy, and OpDef::Exported::frozen holds
  bool fake_factories = false;           // factories make tensors without bytes
  bool deterministic = false;            // ops without a deterministic kernel refuse to run
  bool view_replay = false;              // views remember how to be made again, not only their geometry
  DType default_dtype = DType::f32;
  DType autocast_dtype = DType::bf16;
};
ThreadState& thread_state();

template <class T>
class Scoped {
 public:
  Scoped(T& place, T value) : place_(place), old_(place) { place = value; }
  ~Scoped() { place_ = old_; }
  Scoped(const Scoped&) = delete;
  Scoped& operator=(const Scoped&) = delete;

 private:
  T& place_;
  T old_;
};

Value call_below(Layer layer, const Op& op, Args args);

}  // namespace ingot
