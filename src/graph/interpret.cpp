#include "graph/interpret.hpp"

#include <map>
#include <set>

#include "base/error.hpp"
#include "base/index.hpp"
#include "graph/node_table.hpp"
#include "graph/save_policy.hpp"
#include "graph/trace.hpp"
#include "graph/vmap_region.hpp"
#include "ingot/transforms.hpp"
#include "op/call.hpp"
#include "op/side_effects.hpp"
#include "op/source_note.hpp"
#include "op/upper_layers.hpp"

namespace ingot {

namespace {

class RunningGraph : public Callable {
 public:
  explicit RunningGraph(std::shared_ptr<const Graph> graph) : graph_(std::move(graph)), interpreter_(*graph_) {}
  Values operator()(Args args) const override { return interpreter_.run(args); }

 private:
  std::shared_ptr<const Graph> graph_;
  Interpreter interpreter_;
};

// A line for each node that cannot run, of the graph and its subgraphs. A subgraph may be shared:
// it is listed once.
void list_unsupported(const Graph& g, std::set<const Graph*>& seen, std::string& out) {
  if (!seen.insert(&g).second) return;
  for (const auto& n : g.nodes())
    if (n->kind == NodeKind::unsupported) out += text("unsupported operator ", n->target, provenance(*n), "\n");
  for (const auto& [key, attribute] : g.attributes)
    if (const auto* subgraph = std::get_if<std::shared_ptr<const Graph>>(&attribute)) list_unsupported(**subgraph, seen, out);
}

class Run {
 public:
  // Values nobody reads after a node, by its id, are let go.
  Run(const Graph& graph, const Interpreter::Made& made, const std::vector<std::vector<int>>& dead_after)
      : graph_(graph), made_(made), dead_after_(dead_after), values_(graph.nodes().size()), tracing_(is_tracing()),
        regions_(vmap_regions(graph)) {}

  void execute_all() { execute_from(0, static_cast<int>(graph_.nodes().size()), true); }

  Value resolve(const Argument& a) const {
    if (a.is_value()) return a.value();
    if (a.is_node()) return values_[at(a.node())];
    Values elements;
    for (const Argument& e : a.elements()) elements.push_back(resolve(e));
    return list_value(std::move(elements));
  }

  Value& value_of(const Node& n) { return values_[at(&n)]; }

 private:
  const Graph& graph_;
  const Interpreter::Made& made_;
  const std::vector<std::vector<int>>& dead_after_;
  Values values_;
  const bool tracing_;  // nodes of another graph are being made of this one's
  const std::map<int, VmapRegion> regions_;

  // Nodes [begin, end). Inside a vmap nothing is let go: its function may run again.
  void execute_from(int begin, int end, bool lets_go) {
    for (int id = begin; id < end; id++) {
      const auto region = regions_.find(id);
      const int last = region == regions_.end() ? id : region->second.end;
      const Node& n = *graph_.nodes()[at(id)];
      const SourceScope source(tracing_ && !n.stack_trace.empty() ? make_ref<SourceNote>(n.stack_trace, n.module_path)
                                                                  : Ref<SourceNote>());
      const SavePolicyScope saving(tracing_ ? n.saving : nullptr);
      if (region != regions_.end()) map_members(n, region->second);
      else execute(n);
      for (; lets_go && id <= last; id++)
        for (const int dead : dead_after_[at(id)]) values_[at(dead)] = Value();
      id = last;
    }
  }

  void execute(const Node& n) {
    if (n.kind == NodeKind::placeholder || n.kind == NodeKind::vmap) return;  // what vmap's nodes say is in the regions
    Values args;
    args.reserve(n.args.size());
    for (const Argument& a : n.args) args.push_back(resolve(a));
    value_of(n) = result(n, args);
    if (made_ && (n.kind == NodeKind::call || n.kind == NodeKind::item)) value_of(n) = made_(n, value_of(n));
  }

  // A vmap in the program: what stands between its ends is its function.
  void map_members(const Node& begin, const VmapRegion& region) {
    const auto dim = [&](const Argument& a) {
      const Value v = resolve(a);
      return v.is_none() ? std::nullopt : std::optional<int64_t>(v.to_int64());
    };
    VmapOptions options{.in_dims = {}, .out_dims = {}};
    options.randomness = region.randomness == "different" ? Randomness::different
                         : region.randomness == "same"    ? Randomness::same
                                                          : Randomness::error;
    TensorList operands;
    for (const Node* n : region.arguments) {
      operands.push_back(resolve(n->args[0]).tensor());
      options.in_dims.push_back(dim(n->args[1]));
    }
    for (const Node* n : region.results) options.out_dims.push_back(dim(n->args[3]));
    const TensorFunction function = [&](const TensorList& members) {
      for (std::size_t k = 0; k < members.size(); k++) value_of(*region.arguments[k]) = members[k];
      execute_from(begin.id + 1, region.end, false);
      TensorList results;
      for (const Node* n : region.results) results.push_back(resolve(n->args[0]).tensor());
      return results;
    };
    const TensorList results = upper_layers().vmap(function, std::move(options))(operands);
    for (std::size_t k = 0; k < results.size(); k++) value_of(*region.results[k]) = results[k];
  }

  Value result(const Node& n, const Values& args) const {
    switch (n.kind) {
      case NodeKind::call: return called(n, args);
      case NodeKind::item: return element(args[0], n);
      case NodeKind::scalar: return evaluate(n.function, args);
      case NodeKind::attribute: {
        const Attribute& a = *graph_.find_attribute(n.target);
        if (const auto* tensor = std::get_if<Tensor>(&a)) return *tensor;
        return Ref<Callable>(make_ref<RunningGraph>(std::get<std::shared_ptr<const Graph>>(a)));
      }
      case NodeKind::grad_mode: switch_grad_mode(args[0].to_bool()); return {};
      case NodeKind::placeholder:
      case NodeKind::vmap:
      case NodeKind::unsupported: break;
    }
    throw_internal_error(__FILE__, __LINE__, text("node ", n.name, " cannot be run"));
  }

  // Adds where the program has the call to what went wrong. The text of an assertion is the
  // program's own, also of one that returns a token to keep its place, unless it begins with the
  // op's name: then it is the op that speaks.
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

Interpreter::Interpreter(const Graph& graph, Made made)
    : graph_(graph), made_(std::move(made)), dead_after_(graph.nodes().size()) {
  std::set<const Graph*> seen;
  list_unsupported(graph, seen, unsupported_);
  const auto& nodes = graph.nodes();
  std::vector<int> last_use(nodes.size());
  for (const auto& n : nodes) {
    last_use[at(n.get())] = n->id;  // a value nobody reads goes as soon as it is made
    for_each_node(n->args, [&](const Node* used) { last_use[at(used)] = n->id; });
  }
  for_each_node(graph.outputs, [&](const Node* used) { last_use[at(used)] = -1; });
  for (const auto& n : nodes)
    if (const int last = last_use[at(n.get())]; last >= 0) dead_after_[at(last)].push_back(n->id);
}

Values Interpreter::run(Args inputs) const {
  INGOT_REQUIRE(inputs.size() == graph_.inputs().size(), "the graph takes ", graph_.inputs().size(), " inputs, found ",
                inputs.size());
  INGOT_REQUIRE(unsupported_.empty(), unsupported_, kListMissing);

  Scoped<bool> grad_mode(thread_state().grad_mode, thread_state().grad_mode);
  Run run(graph_, made_, dead_after_);
  for (std::size_t i = 0; i < inputs.size(); i++) run.value_of(*graph_.inputs()[i]) = inputs[i];
  run.execute_all();
  Values outputs;
  for (const Argument& a : graph_.outputs) outputs.push_back(run.resolve(a));
  return outputs;
}

}  // namespace ingot
