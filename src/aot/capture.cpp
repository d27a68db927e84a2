#include "aot/capture.hpp"

#include <utility>

#include "base/error.hpp"
#include "graph/interpret.hpp"
#include "op/call.hpp"
#include "op/program_acts.hpp"

namespace ingot::aot {

Captured capture(const FlatFunction& f, const Values& fakes, ShapeEnv& sizes) {
  Captured c;
  c.inputs = DenseLayout(fakes);
  const bool wrappers = c.inputs.has_wrappers();
  const auto function = [&](const Values& plain) {
    const Values results = f(wrappers ? c.inputs.wrapped(plain) : plain);
    c.results = DenseLayout(results);
    return unwrapped(results);
  };
  const Values plain = wrappers ? unwrapped(fakes) : fakes;
  std::vector<std::string> names;
  for (std::size_t k = 0; k < plain.size(); k++) names.push_back(text("arg", k, "_1"));
  const bool grad_mode = thread_state().grad_mode;
  c.graph = record(function, plain, names, sizes, {.pre_dispatch = true, .faithful = true});
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
