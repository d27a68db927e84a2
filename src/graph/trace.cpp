#include "graph/trace.hpp"

#include "base/error.hpp"
#include "graph/tracer.hpp"
#include "op/call.hpp"

namespace ingot {
namespace {

// The tensors of `leaves`, as the function shall see them.
TensorList stand_ins(const TensorList& examples, const TraceOptions& options, HintEnv& env) {
  if (options.with == TraceWith::data) {
    INGOT_REQUIRE(options.open.empty(), "trace: a size cannot stay open while the function runs on data; trace with fakes");
    TensorList handles;
    for (const Tensor& t : examples) {
      const auto same = std::find_if(examples.begin(), examples.end(), [&](const Tensor& o) { return o.is_same(t); });
      const auto k = static_cast<std::size_t>(same - examples.begin());
      handles.push_back(k < handles.size() ? handles[k] : make_alias(t, t->geom));
    }
    return handles;
  }
  std::vector<OpenSize> open = options.open;
  if (options.with == TraceWith::symbols && open.empty()) open = every_size_open(examples);
  return make_fakes(examples, open, env);
}

Values run(const std::function<Values(const Values&)>& f, const Values& leaves, const TraceOptions& options, Traced& traced) {
  TensorList examples;
  for (const Value& v : leaves)
    if (v.is_tensor()) examples.push_back(v.tensor());
  for (const Tensor& t : examples)
    INGOT_REQUIRE(!(t->layers & layer_bit(Layer::wrapper)), "trace: an example is a wrapper tensor, and graphs are programs of plain "
                  "tensors; trace the function of its inner tensors (dense_function of transform/wrapper_layout.hpp)");
  const TensorList tensors = stand_ins(examples, options, traced.sizes);
  Values inputs;
  std::size_t next = 0;
  for (const Value& v : leaves) inputs.push_back(v.is_tensor() ? Value(tensors[next++]) : v);
  Tracer tracer(traced.graph, options);
  for (std::size_t i = 0; i < inputs.size(); i++) tracer.bind_input(inputs[i], text("arg", i, "_1"));

  ThreadState& state = thread_state();
  const GuardScope guards(traced.sizes);
  const TracerScope tracing(tracer);
  const Scoped<bool> fakes(state.fake_factories, options.with != TraceWith::data);
  const Scoped<bool> whole(state.keep_composites, options.pre_dispatch);
  Values results = f(inputs);
  for (const Value& v : results) traced.graph.outputs.push_back(tracer.argument(v));
  return results;
}

}  // namespace

bool is_tracing() { return current_tracer() != nullptr; }

Traced trace(const TensorFunction& f, const TensorList& examples, const TraceOptions& options) {
  Traced traced;
  const auto call_flat = [&](const Values& leaves) {
    TensorList in;
    for (const Value& v : leaves) in.push_back(v.tensor());
    const TensorList out = f(in);
    return Values(out.begin(), out.end());
  };
  const auto list_spec = [](std::size_t n) { return TreeSpec{std::string(tree_types::kList), "null", {}, std::vector<TreeSpec>(n)}; };
  const Values results = run(call_flat, Values(examples.begin(), examples.end()), options, traced);
  traced.inputs = list_spec(examples.size());
  traced.results = list_spec(results.size());
  return traced;
}

Traced trace(const TreeFunction& f, const Tree& example, const TraceOptions& options) {
  Traced traced;
  FlatTree flat = flatten(example);
  traced.inputs = std::move(flat.spec);
  const auto call_flat = [&](const Values& leaves) {
    FlatTree out = flatten(f(unflatten(leaves, traced.inputs)));
    traced.results = std::move(out.spec);
    return std::move(out.leaves);
  };
  run(call_flat, flat.leaves, options, traced);
  return traced;
}

}  // namespace ingot
