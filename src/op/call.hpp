// The one door. Every operator call, eager, traced, functionalized or faked, goes through `call`.
#pragma once
#include <algorithm>
#include <cstddef>

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

// Arguments past the last given one take the schema's defaults. Checks kinds against the schema.
// Results: a Tensor, a TensorList (several results, or a list), or another value; in-place and out=
// variants return what they wrote.
Value call(const Op& op, Args args);
inline Value call(const Op& op, std::initializer_list<Value> args) { return call(op, Args(args.begin(), args.size())); }
Value call_below(Layer layer, const Op& op, Args args);

// Calls by name with the look-up done once: aten<"mul.Tensor">(a, b).
template <std::size_t N>
struct OpName {
  char text[N];
  constexpr OpName(const char (&s)[N]) { std::copy_n(s, N, text); }
};
template <OpName Name>
const Op& op_ref() {
  static const Op& o = INGOT_OP(Name);
  return o;
}
template <OpName Name, class... A>
Value aten_value(const A&... a) {
  const Value args[] = {Value(a)...};
  return call(op_ref<Name>(), Args(args));
}
template <OpName Name, class... A>
Tensor aten(const A&... a) {
  return aten_value<Name>(a...).tensor();
}
template <OpName Name, class... A>
TensorList atens(const A&... a) {
  return aten_value<Name>(a...).tensors();
}

}  // namespace ingot
