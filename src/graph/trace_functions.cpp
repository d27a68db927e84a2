// Recording ops that call functions: each function becomes a graph that the op's node names.
#include <memory>

#include "base/error.hpp"
#include "graph/tracer.hpp"
#include "op/call.hpp"
#include "op/function.hpp"

namespace ingot {
namespace {

struct TracedFunction {
  std::shared_ptr<Graph> graph;
  Values returned, captured;
};

// The graph of f for operands like these. What f brings along from the function around it is in `brought`, and comes after
// the operands.
TracedFunction trace_function(const Callable& f, const Values& operands, const Values& brought, const TraceOptions& options,
                              Tracer& outer) {
  TracedFunction r{std::make_shared<Graph>(), {}, {}};
  Tracer tracer(*r.graph, options, &outer);
  Values inputs;
  for (const Value& v : operands)  // tensors of its own: the operands are values of the function around it
    inputs.push_back(v.is_tensor() ? Value(make_tensor(v.tensor()->geom, v.tensor().device(), true)) : v);
  std::size_t next = 0;
  for (const Values* list : std::initializer_list<const Values*>{&inputs, &brought})
    for (const Value& v : *list) tracer.bind_input(v, text("arg", next++, "_1"));
  const TracerScope tracing(tracer);
  const Scoped<Layer> layer(thread_state().layer, Layer::trace);
  const Scoped<bool> fakes(thread_state().fake_factories, true);
  r.returned = f(inputs);
  for (const Value& v : r.returned) r.graph->outputs.push_back(tracer.argument(v));
  r.captured = tracer.captured();
  return r;
}

bool contains(const Values& l, const Value& v) {
  for (const Value& e : l)
    if (e.same(v)) return true;
  return false;
}

// "true_graph_0", "true_graph_1", …: the first that is free.
std::string free_key(const Attributes& taken, std::string_view name) {
  for (int k = 0;; k++)
    if (std::string key = text(name, "_", k); !taken.find(key)) return key;
}

}  // namespace

std::string Tracer::record_function(std::string_view name, const Values& inputs, const std::function<Values()>& f) {
  const auto graph = std::make_shared<Graph>();
  Tracer inner(*graph, options_, this);
  for (std::size_t k = 0; k < inputs.size(); k++) inner.bind_input(inputs[k], text("arg", k, "_1"));
  {
    const TracerScope tracing(inner);
    for (const Value& v : f()) graph->outputs.push_back(inner.argument(v));
  }
  bool closed = inner.captured().empty();
  for (const auto& [key, held] : graph->attributes) {
    const Tensor* t = std::get_if<Tensor>(&held);
    closed = closed && !(t && (*t)->is_fake());  // a value of another function
  }
  INGOT_REQUIRE(closed,
                "a graph has no node for a custom function that uses other tensors of the program than its arguments and those "
                "that it saves, which the function has");
  const std::string key = free_key(graph_.attributes, name);
  graph_.attributes.emplace_back(key, std::shared_ptr<const Graph>(graph));
  return key;
}

void Tracer::called(const Op& op, const std::vector<std::string>& functions, Args args, const Value& results) {
  std::vector<Argument> arguments;
  for (const std::string& f : functions) arguments.emplace_back(graph_.attribute(f));
  for (const Value& v : args) arguments.push_back(argument(v));
  Node* n = graph_.call(op, std::move(arguments));
  note_source(*n);
  bind_result(results, n);
}

Value Tracer::record_functions(const Op& op, Args args) {
  const CallingConvention& convention = *calling_convention(op);
  const Call c{op, args};
  std::vector<const Callable*> functions;
  for (const Value& v : args)
    if (v.is_function()) functions.push_back(&v.function());

  const auto on_fakes = [&](const auto& f) {
    const Scoped<Layer> layer(thread_state().layer, Layer::kernel);
    const Scoped<bool> fakes(thread_state().fake_factories, true);
    return f();
  };
  // A row that stands for all is a value of this graph like any other, though nothing may read it.
  const Values operands = [&] {
    const Scoped<Layer> layer(thread_state().layer, Layer::trace);
    const Scoped<bool> fakes(thread_state().fake_factories, true);
    return convention.operands(c);
  }();
  // Once to find out what the functions bring along, and again with that as inputs, the same for all of them.
  std::vector<TracedFunction> traced;
  Values brought;
  for (bool complete = false; !complete;) {
    complete = true;
    traced.clear();
    for (const Callable* f : functions) {
      traced.push_back(trace_function(*f, operands, brought, options_, *this));
      for (const Value& v : traced.back().captured)
        if (!contains(brought, v)) {
          brought.push_back(v);
          complete = false;
        }
    }
  }

  std::vector<Argument> arguments;
  std::vector<Values> returned;
  for (std::size_t i = 0; i < args.size(); i++) {
    if (args[i].is_function()) {
      const std::size_t k = returned.size();
      // The function of a map returns a list, unless a function around it was captured before (A148, A149).
      if (!outer_ && convention.control == Control::each_row) traced[k].graph->returns = Graph::Returns::list;
      const std::string key = free_key(graph_.attributes, convention.functions.at(k));
      graph_.attributes.emplace_back(key, std::shared_ptr<const Graph>(traced[k].graph));
      arguments.emplace_back(graph_.attribute(key));
      returned.push_back(traced[k].returned);
    } else if (static_cast<int>(i) == convention.closure) {
      Values all = list_elements(args[i]);
      all.insert(all.end(), brought.begin(), brought.end());
      arguments.push_back(argument(list_value(std::move(all))));
    } else {
      arguments.push_back(argument(args[i]));
    }
  }
  Node* n = graph_.call(op, std::move(arguments), convention.node_name);
  note_source(*n);
  const Value results = options_.with == TraceWith::data ? call_below(Layer::trace, op, args)
                                                         : list_value(on_fakes([&] { return convention.results(c, returned); }));
  bind_result(results, n);
  return results;
}

}  // namespace ingot
