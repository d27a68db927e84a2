#include "program/entry_point.hpp"

#include <set>

#include "base/error.hpp"

namespace ingot {

namespace {

void add_unsupported(const Graph& g, std::vector<const Node*>& out) {
  for (const auto& n : g.nodes())
    if (n->kind == NodeKind::unsupported) out.push_back(n.get());
  for (const auto& [key, attribute] : g.attributes)
    if (const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&attribute)) add_unsupported(**inner, out);
}

// An input that is handed back has the role that it came with, and none as a result.
Role role_of_result(const Argument& a) {
  return a.is_node() && a.node()->kind != NodeKind::placeholder ? a.node()->role : Role::value;
}

}  // namespace

InputSpec::Kind OutputSpec::target_kind() const {
  switch (kind) {
    case Kind::user_input_mutation:
    case Kind::user_input_gradient: return InputSpec::Kind::user;
    case Kind::buffer_mutation: return InputSpec::Kind::buffer;
    default: return InputSpec::Kind::parameter;
  }
}

std::vector<const InputSpec*> EntryPoint::user_inputs() const {
  std::vector<const InputSpec*> out;
  for (const InputSpec& s : inputs)
    if (s.kind == InputSpec::Kind::user && s.node != nullptr) out.push_back(&s);
  return out;
}

std::vector<Leaf> EntryPoint::input_leaves() const {
  std::vector<std::string> names;
  if (call_spec) {
    const auto& known = call_spec->argument_names;
    const TreeSpec &args = call_spec->in_spec.children[0], &kwargs = call_spec->in_spec.children[1];
    for (std::size_t i = 0; i < args.children.size(); i++) {
      const std::string name = known && i < known->size() ? (*known)[i] : text("args[", i, "]");
      for (std::string& leaf : leaf_names(args.children[i], name)) names.push_back(std::move(leaf));
    }
    for (std::size_t i = 0; i < kwargs.children.size(); i++)
      for (std::string& leaf :
           leaf_names(kwargs.children[i], kwargs.keys[i].is_string() ? kwargs.keys[i].string() : to_text(kwargs.keys[i])))
        names.push_back(std::move(leaf));
  }
  std::vector<Leaf> leaves;
  for (const InputSpec& s : inputs) {
    if (s.kind != InputSpec::Kind::user) continue;
    const bool is_constant = s.node == nullptr;
    leaves.push_back(
        {leaves.size() < names.size() ? names[leaves.size()] : s.name, is_constant ? s.fixed : s.node->meta, is_constant});
  }
  return leaves;
}

std::vector<Leaf> EntryPoint::result_leaves() const {
  const std::vector<std::string> names = call_spec ? leaf_names(call_spec->out_spec, "output") : std::vector<std::string>();
  std::vector<Leaf> leaves;
  for (std::size_t i = 0; i < outputs.size(); i++) {
    if (!outputs[i].is_result()) continue;
    const Argument& a = graph.outputs[i];
    const std::string name = leaves.size() < names.size() ? names[leaves.size()] : text("output[", leaves.size(), "]");
    if (a.is_node()) leaves.push_back({name, a.node()->meta, false});
    else leaves.push_back({name, a.is_value() ? a.value() : Value(), a.is_value()});
  }
  return leaves;
}

std::vector<const Node*> EntryPoint::unsupported_nodes() const {
  std::vector<const Node*> out;
  add_unsupported(graph, out);
  return out;
}

EntryPoint function_entry(std::string name, Graph graph, ShapeEnv sizes) {
  EntryPoint e;
  e.name = std::move(name);
  e.graph = std::move(graph);
  for (Node* n : e.graph.inputs()) {
    InputSpec& s = e.inputs.emplace_back();
    s.node = n;
    s.name = n->name;
    s.role = n->role;
  }
  for (const Argument& a : e.graph.outputs) e.outputs.emplace_back().role = role_of_result(a);
  e.sizes = std::move(sizes);
  return e;
}

void hand_on_roles(const Graph& from, std::span<const std::size_t> taken, Graph& to) {
  INGOT_ENSURE(to.inputs().size() == taken.size() && to.outputs.size() == from.outputs.size(), "a graph of ", taken.size(),
               " inputs and ", from.outputs.size(), " outputs became one of ", to.inputs().size(), " and ", to.outputs.size());
  for (std::size_t k = 0; k < taken.size(); k++) to.inputs()[k]->role = from.inputs()[taken[k]]->role;
  std::set<const Node*> has_role;
  for (std::size_t k = 0; k < to.outputs.size(); k++) {
    const Argument& a = to.outputs[k];
    if (!a.is_node() || a.node()->kind == NodeKind::placeholder || !has_role.insert(a.node()).second) continue;
    a.node()->role = role_of_result(from.outputs[k]);
  }
}

}  // namespace ingot
