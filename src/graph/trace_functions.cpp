// Recording ops that call functions: each function becomes a graph that the op's node names.
#include <functional>
#include <map>
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

// The graph of f for operands like these. What f brings along from the function around it is in
// `brought`, and comes after the operands.
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
    (void)map_functions(v, [&](const Value& f) {
      functions.push_back(&f.function());
      return f;
    });
  INGOT_REQUIRE(functions.size() == convention.functions.size(), op.schema.name, " takes ", convention.functions.size(),
                " functions, found ", functions.size());

  const auto on_fakes = [&](const auto& f) {
    const Scoped<Layer> layer(thread_state().layer, Layer::kernel);
    const Scoped<bool> fakes(thread_state().fake_factories, true);
    return f();
  };
  // A row that stands for all is a value of this graph like any other, though nothing may read it.
  std::vector<Values> operands;
  for (std::size_t k = 0; k < functions.size(); k++) {
    if (k > 0 && convention.control != Control::element) {  // all are called with the same
      operands.push_back(operands[0]);
      continue;
    }
    const Scoped<Layer> layer(thread_state().layer, convention.control == Control::element ? Layer::kernel : Layer::trace);
    const Scoped<bool> fakes(thread_state().fake_factories, true);
    operands.push_back(convention.operands(c, k));
  }
  // Once to find out what the functions bring along, and again with that as inputs, the same for
  // all that have one list for it.
  std::vector<TracedFunction> traced;
  std::map<int, Values> brought;  // by closure
  for (bool complete = false; !complete;) {
    complete = true;
    traced.clear();
    for (std::size_t k = 0; k < functions.size(); k++) {
      Values& along = brought[convention.closures.at(k)];
      traced.push_back(trace_function(*functions[k], operands[k], along, options_, *this));
      for (const Value& v : traced.back().captured)
        if (!contains(along, v)) {
          along.push_back(v);
          complete = false;
        }
    }
  }

  std::vector<Argument> arguments;
  std::vector<Values> returned;
  const auto function_node = [&] {
    const std::size_t k = returned.size();
    // The function of a map returns a list, unless a function around it was captured before (A148,
    // A149).
    if (!outer_ && convention.control == Control::each_row) traced[k].graph->returns = Graph::Returns::list;
    if (convention.control == Control::element && traced[k].graph->outputs.size() == 1)
      traced[k].graph->returns = Graph::Returns::bare;
    const std::string key = free_key(graph_.attributes, convention.functions.at(k));
    graph_.attributes.emplace_back(key, std::shared_ptr<const Graph>(traced[k].graph));
    returned.push_back(traced[k].returned);
    return graph_.attribute(key);
  };
  const std::function<Argument(const Value&)> with_functions = [&](const Value& v) -> Argument {
    if (v.is_function()) return function_node();
    if (!v.is_values()) return argument(v);
    std::vector<Argument> elements;
    for (const Value& e : v.values()) elements.push_back(with_functions(e));
    return Argument::list(std::move(elements));
  };
  for (std::size_t i = 0; i < args.size(); i++) {
    const auto along = brought.find(static_cast<int>(i));
    if (along == brought.end()) {
      arguments.push_back(with_functions(args[i]));
      continue;
    }
    Values all = list_elements(args[i]);
    all.insert(all.end(), along->second.begin(), along->second.end());
    arguments.push_back(argument(list_value(std::move(all))));
  }
  Node* n = graph_.call(op, std::move(arguments), convention.node_name);
  note_source(*n);
  const Value results = options_.with == TraceWith::data ? call_below(Layer::trace, op, args)
                                                         : list_value(on_fakes([&] { return convention.results(c, returned); }));
  bind_result(results, n);
  return results;
}

}  // namespace ingot
