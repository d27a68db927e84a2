#include "aot/assembly.hpp"

#include <algorithm>

#include "aot/runtime.hpp"
#include "op/call.hpp"

namespace ingot::aot {
namespace {

FlatCallable without_gradients(const Assembly& a, Boxed run) {
  return [meta = a.meta, run = std::move(run), takes_wrappers = a.layouts.inputs.has_wrappers(), returned = a.layouts.returned,
          tokens = static_cast<std::size_t>(a.meta.tokens)](Values arguments) {
    const Values needed = needed_afterwards(meta, arguments);
    Values results;
    {
      const Scoped<bool> no_grad(thread_state().grad_mode, false);
      if (takes_wrappers) arguments = unwrapped(arguments);
      arguments.insert(arguments.begin(), tokens, Value());
      results = run(arguments);
      results.erase(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(std::min(tokens, results.size())));
      results = returned.wrapped(std::move(results));
    }
    return finish_call(meta, needed, results);
  };
}

}  // namespace

FlatCallable around_graphs(const Assembly& a, Boxed forward, std::shared_ptr<Backward> backward) {
  if (!backward) return without_gradients(a, std::move(forward));
  const auto training =
      std::make_shared<Training>(a.meta, a.layouts, std::move(forward), a.saved_tensors, std::move(backward), a.without_gradient);
  return [training](Values arguments) { return (*training)(std::move(arguments)); };
}

FlatCallable around_arguments(const Assembly& a, FlatCallable graphs) {
  return a.dedupe.around(a.bases.around(std::move(graphs)));
}

}  // namespace ingot::aot
