#include "graph/trace.hpp"

#include <set>

#include "base/error.hpp"
#include "graph/interpret.hpp"
#include "graph/tracer.hpp"
#include "op/call.hpp"
#include "op/tensors.hpp"

namespace ingot {
namespace {

// The examples, as the function shall see them.
Values stand_ins(const Values& examples, const TraceOptions& options, ShapeEnv& env) {
  if (options.with == TraceWith::data) {
    INGOT_REQUIRE(options.open.empty(), "trace: a size cannot stay open while the function runs on data; trace with fakes");
    Values handles;
    for (const Value& v : examples) {
      const auto same = std::find_if(examples.begin(), examples.end(), [&](const Value& o) { return o.same(v); });
      const auto k = static_cast<std::size_t>(same - examples.begin());
      if (k < handles.size()) handles.push_back(handles[k]);
      else handles.push_back(v.is_tensor() ? Value(make_alias(v.tensor(), v.tensor()->geom)) : v);
    }
    return handles;
  }
  std::vector<OpenSize> open = options.open;
  if (options.with == TraceWith::symbols && open.empty()) open = every_size_open(examples);
  return make_fakes(examples, open, env);
}

// What nodes make, in terms of what the whole trace found equal.
class Simplifier {
 public:
  explicit Simplifier(ShapeEnv& sizes) : sizes_(sizes) {}

  Value operator()(const Value& meta) {
    if (meta.is_int()) return simplified(meta.to_int());
    for_each_tensor(meta, [&](const Tensor& t) {
      for (Int& size : t->geom.sizes) size = simplified(size);
      t->geom.strides = sizes_.simplify(t->geom.strides);
      t->geom.offset = sizes_.simplify(t->geom.offset);
    });
    return meta;
  }

 private:
  ShapeEnv& sizes_;
  std::set<std::string, std::less<>> seen_;

  // The node that reads a symbol from data goes on saying which it is: a run is to find out there
  // whether it is what it should be.
  Int simplified(Int v) {
    if (v.is_number()) return v;
    const Expr e = v.expr();
    const bool is_read = e.op() == ExprOp::Sym && sizes_.needs_data(e) && seen_.insert(e->name).second;
    return is_read ? v : sizes_.simplify(v);
  }
};

// Returns what `f` returned, as `f` sees it.
Values record_into(Graph& graph, const std::function<Values(const Values&)>& f, const Values& inputs,
                   const std::vector<std::string>& names, ShapeEnv& sizes, const TraceOptions& options) {
  Tracer tracer(graph, options);
  const auto tokens = static_cast<std::size_t>(options.tokens);
  for (std::size_t i = 0; i < tokens; i++) tracer.bind_token(names[i]);
  for (std::size_t i = 0; i < inputs.size(); i++) tracer.bind_input(inputs[i], names[tokens + i]);
  ThreadState& state = thread_state();
  const GuardScope guards(sizes);
  const TracerScope tracing(tracer);
  const Scoped<bool> fakes(state.fake_factories, options.with != TraceWith::data);
  // Autocast chooses types for the ops that a composite is made of, so the graph has those.
  const Scoped<bool> whole(state.keep_composites, options.pre_dispatch && !(state.active & layer_bit(Layer::autocast)));
  Values results = f(inputs);
  if (tokens > 0) graph.outputs.emplace_back(tracer.token());
  for (const Value& v : results) graph.outputs.push_back(tracer.argument(v));
  // An input goes on saying which symbol its size is: whoever calls the graph reads it there.
  if (sizes.any_equalities()) {
    Simplifier simplified(sizes);
    for (const auto& n : graph.nodes())
      if (n->kind != NodeKind::placeholder) n->meta = simplified(n->meta);
  }
  return results;
}

Values run(const std::function<Values(const Values&)>& f, const Values& leaves, const TraceOptions& options, Traced& traced) {
  for (const Value& v : leaves)
    INGOT_REQUIRE(!v.is_tensor() || !(v.tensor()->layers & layer_bit(Layer::wrapper)),
                  "trace: an example is a wrapper tensor, and graphs are programs of plain "
                  "tensors; trace the function of its inner tensors (dense_function of op/wrapper_layout.hpp)");
  std::vector<std::string> names;
  for (std::size_t i = 0; i < leaves.size(); i++) names.push_back(text("arg", i, "_1"));
  return record_into(traced.graph, f, stand_ins(leaves, options, traced.sizes), names, traced.sizes, options);
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
  const auto list_spec = [](std::size_t n) {
    return TreeSpec{std::string(tree_types::kList), "null", {}, std::vector<TreeSpec>(n)};
  };
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

Graph record(const std::function<Values(const Values&)>& f, const Values& fakes, const std::vector<std::string>& names,
             ShapeEnv& sizes, const TraceOptions& options) {
  Graph graph;
  record_into(graph, f, fakes, names, sizes, options);
  return graph;
}

Tree run(const Traced& traced, const Tree& arguments) {
  return unflatten(Interpreter(traced.graph).run(flatten(arguments, traced.inputs, "arguments")), traced.results);
}

}  // namespace ingot
