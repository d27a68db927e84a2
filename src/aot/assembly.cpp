#include "aot/assembly.hpp"

#include <algorithm>

#include "aot/runtime.hpp"
#include "autograd/unseen_writes.hpp"
#include "op/call.hpp"

namespace ingot::aot {
namespace {

// R094: of the writes that the graph makes, those that are hidden from autograd leave no version
// behind.
Boxed with_hidden_writes(const Assembly& a, Boxed run) {
  const auto places = [&](bool hidden) {
    std::vector<int> found = a.layouts.inputs.dense_places([&](std::size_t k) {
      const InputInfo& i = a.meta.inputs[k];
      return i.mutation() == Mutation::in_graph && (i.hidden_from_autograd && i.mutates_data) == hidden;
    });
    for (int& k : found) k += a.meta.tokens;
    return found;
  };
  if (places(true).empty()) return run;
  return [run = std::move(run), seen = places(false)](Values& arguments) {
    TensorList written;
    for (const int k : seen) written.push_back(arguments[static_cast<std::size_t>(k)].tensor());
    Values results;
    {
      const Scoped<bool> unseen(unseen_writes(), true);
      results = run(arguments);
    }
    for (const Tensor& t : written)
      if (!t->inference) t->storage->bump_version();
    return results;
  };
}

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
  forward = with_hidden_writes(a, std::move(forward));
  if (!backward) return without_gradients(a, std::move(forward));
  const auto training =
      std::make_shared<Training>(a.meta, a.layouts, std::move(forward), a.saved_tensors, std::move(backward), a.without_gradient);
  return [training](Values arguments) { return (*training)(std::move(arguments)); };
}

FlatCallable around_arguments(const Assembly& a, FlatCallable graphs) {
  return a.dedupe.around(a.bases.around(std::move(graphs)));
}

}  // namespace ingot::aot
