#include "aot/capture.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "graph/interpret.hpp"
#include "graph/tracer.hpp"
#include "op/call.hpp"
#include "op/side_effects.hpp"
#include "transform/mode.hpp"

namespace ingot::aot {

namespace {

// Records calls before the classes of wrappers act. What a class makes of a call is its own.
class AboveWrappers final : public Mode {
 public:
  Value call(const Op& op, Args args) override {
    ThreadState& state = thread_state();
    const Scoped<uint8_t> unrecorded(state.active, static_cast<uint8_t>(state.active & ~layer_bit(Layer::trace)));
    const Scoped<bool> apart(state.keep_composites, false);
    return current_tracer()->record(op, args, Layer::mode);
  }
};

}  // namespace

Captured capture(const FlatFunction& f, const Values& fakes, ShapeEnv& sizes, Wrappers wrappers) {
  Captured c;
  const bool any = std::any_of(fakes.begin(), fakes.end(), is_wrapper), whole = wrappers == Wrappers::whole && any;
  if (!whole) c.inputs = DenseLayout(fakes);
  const auto function = [&](const Values& inputs) {
    AboveWrappers mode;
    std::optional<ModeScope> above;
    if (whole) {
      above.emplace(mode);
      return f(inputs);
    }
    const Values results = f(any ? c.inputs.wrapped(inputs) : inputs);
    c.results = DenseLayout(results);
    return unwrapped(results);
  };
  const Values inputs = any && !whole ? unwrapped(fakes) : fakes;
  std::vector<std::string> names;
  for (std::size_t k = 0; k < inputs.size(); k++) names.push_back(text("arg", k, "_1"));
  const bool grad_mode = thread_state().grad_mode;
  c.graph = record(function, inputs, names, sizes, {.pre_dispatch = true, .faithful = true});
  if (thread_state().grad_mode != grad_mode) c.grad_mode = std::exchange(thread_state().grad_mode, grad_mode);
  return c;
}

FlatFunction function_of(Captured c) {
  INGOT_ENSURE(!c.inputs.has_wrappers() && !c.results.has_wrappers(), "a graph of plain tensors is no function of wrappers");
  const auto graph = std::make_shared<const Graph>(std::move(c.graph));
  return [graph, interpreter = std::make_shared<const Interpreter>(*graph), mode = c.grad_mode](const Values& arguments) {
    Values results = interpreter->run(arguments);
    if (mode) switch_grad_mode(*mode);
    return results;
  };
}

}  // namespace ingot::aot
