#include "graph/interpret.hpp"

#include <set>

#include "base/error.hpp"
#include "graph/save_policy.hpp"
#include "graph/trace.hpp"
#include "op/call.hpp"
#include "op/program_acts.hpp"
#include "op/source_note.hpp"

namespace ingot {

namespace {

class GraphFunction : public Callable {
 public:
  explicit GraphFunction(std::shared_ptr<const Graph> graph) : graph_(std::move(graph)), interpreter_(*graph_) {}
  Values operator()(Args args) const override { return interpreter_.run(args); }

 private:
  std::shared_ptr<const Graph> graph_;
  Interpreter interpreter_;
};

// A line for each node that cannot run, of the graph and its subgraphs. A subgraph may be shared: it is listed once.
void list_unsupported(const Graph& g, std::set<const Graph*>& seen, std::string& out) {
  if (!seen.insert(&g).second) return;
  for (const auto& n : g.nodes())
    if (n->kind == NodeKind::unsupported) out += text("unsupported operator ", n->target, provenance(*n), "\n");
  for (const auto& [key, attribute] : g.attributes)
    if (const auto* subgraph = std::get_if<std::shared_ptr<const Graph>>(&attribute)) list_unsupported(**subgraph, seen, out);
}

class Run {
 public:
  Run(const Graph& graph) : graph_(graph), values_(graph.nodes().size()) {}

  Value resolve(const Argument& a) const {
    if (a.is_value()) return a.value();
    if (a.is_node()) return values_[static_cast<std::size_t>(a.node()->id)];
    Values elements;
    for (const Argument& e : a.elements()) elements.push_back(resolve(e));
    return list_value(std::move(elements));
  }

  void execute(const Node& n) {
    if (n.kind == NodeKind::placeholder) return;
    Values args;
    args.reserve(n.args.size());
    for (const Argument& a : n.args) args.push_back(resolve(a));
    value_of(n) = result(n, args);
  }

  Value& value_of(const Node& n) { return values_[static_cast<std::size_t>(n.id)]; }
  void forget(int id) { values_[static_cast<std::size_t>(id)] = Value(); }

 private:
  const Graph& graph_;
  Values values_;

  Value result(const Node& n, const Values& args) const {
    switch (n.kind) {
      case NodeKind::call: return called(n, args);
      case NodeKind::item: return element(args[0], n);
      case NodeKind::scalar: return evaluate(n.function, args);
      case NodeKind::attribute: {
        const Attribute& a = *graph_.find_attribute(n.target);
        if (const auto* tensor = std::get_if<Tensor>(&a)) return *tensor;
        return Ref<Callable>(make_ref<GraphFunction>(std::get<std::shared_ptr<const Graph>>(a)));
      }
      case NodeKind::grad_mode: switch_grad_mode(args[0].to_bool()); return {};
      default: throw_internal_error(__FILE__, __LINE__, text("node ", n.name, " cannot be run"));
    }
  }

  // Adds where the program has the call to what went wrong. The text of an assertion is the program's own, also of one that
  // returns a token to keep its place, unless it begins with the op's name: then it is the op that speaks.
  static Value called(const Node& n, const Values& args) {
    const bool is_assertion = n.op->schema.results.empty() || n.op->schema.index_of("assert_msg") >= 0;
    try {
      return call(*n.op, args);
    } catch (const IndexError& e) {
      throw_index_error(text(e.what(), provenance(n)));
    } catch (const UserError& e) {
      if (is_assertion && !std::string_view(e.what()).starts_with(text(n.op->schema.name, ":"))) throw;
      throw_user_error(text(e.what(), provenance(n)));
    } catch (const InternalError& e) {
      throw InternalError(text(e.what(), provenance(n)));
    }
  }

  static Value element(const Value& list, const Node& n) {
    const auto i = static_cast<std::size_t>(n.index);
    const auto require = [&](std::size_t size) {
      INGOT_REQUIRE(n.index >= 0 && i < size, "element ", n.index, " of a list of ", size, provenance(n));
    };
    // clang-format off
    if (list.is_tensors()) { require(list.tensors().size()); return list.tensors()[i]; }
    if (list.is_values()) { require(list.values().size()); return list.values()[i]; }
    if (list.is_ints()) { require(list.ints().size()); return list.ints()[i]; }
    if (list.is_floats()) { require(list.floats().size()); return list.floats()[i]; }
    if (list.is_bools()) { require(list.bools().size()); return bool{list.bools()[i]}; }
    // clang-format on
    throw_user_error(text("a list was expected, found ", list.kind_name(), provenance(n)));
  }
};

}  // namespace

Interpreter::Interpreter(const Graph& graph) : graph_(graph), dead_after_(graph.nodes().size()) {
  std::set<const Graph*> seen;
  list_unsupported(graph, seen, unsupported_);
  const auto& nodes = graph.nodes();
  std::vector<int> last_use(nodes.size());
  for (const auto& n : nodes) {
    last_use[static_cast<std::size_t>(n->id)] = n->id;  // a value nobody reads goes as soon as it is made
    for_each_node(n->args, [&](const Node* used) { last_use[static_cast<std::size_t>(used->id)] = n->id; });
  }
  for_each_node(graph.outputs, [&](const Node* used) { last_use[static_cast<std::size_t>(used->id)] = -1; });
  for (const auto& n : nodes)
    if (const int last = last_use[static_cast<std::size_t>(n->id)]; last >= 0)
      dead_after_[static_cast<std::size_t>(last)].push_back(n->id);
}

Values Interpreter::run(Args inputs) const {
  INGOT_REQUIRE(inputs.size() == graph_.inputs().size(), "the graph takes ", graph_.inputs().size(), " inputs, found ",
                inputs.size());
  INGOT_REQUIRE(unsupported_.empty(), unsupported_, kListMissing);

  Scoped<bool> grad_mode(thread_state().grad_mode, thread_state().grad_mode);
  Run run(graph_);
  for (std::size_t i = 0; i < inputs.size(); i++) run.value_of(*graph_.inputs()[i]) = inputs[i];
  const bool tracing = is_tracing();  // nodes of another graph are being made of this one's
  for (const auto& n : graph_.nodes()) {
    const SourceScope source(tracing && !n->stack_trace.empty() ? make_ref<SourceNote>(n->stack_trace, n->module_path)
                                                                : Ref<SourceNote>());
    const SavePolicyScope saving(tracing ? n->saving : nullptr);
    run.execute(*n);
    for (const int id : dead_after_[static_cast<std::size_t>(n->id)]) run.forget(id);
  }
  Values outputs;
  for (const Argument& a : graph_.outputs) outputs.push_back(run.resolve(a));
  return outputs;
}

}  // namespace ingot
