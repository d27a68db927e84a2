#include "aot/partition.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "graph/copy.hpp"
#include "graph/dead_code.hpp"

namespace ingot::aot {
namespace {

std::size_t at(const Node* n) { return static_cast<std::size_t>(n->id); }

bool is_tangent(const Node& n) { return n.kind == NodeKind::placeholder && n.name.starts_with("tangents_"); }

// R109: the nodes that can be computed of `inputs`, and of them those that the outputs need, or that do something. `without`: by
// id, nodes that are no business of this part.
Graph extract(const Graph& joint, const std::vector<Node*>& inputs, const std::vector<Argument>& outputs, const std::vector<bool>& without) {
  Graph g;
  GraphCopier copier(joint, g);
  std::vector<bool> has(joint.nodes().size());
  for (Node* n : inputs) {
    Node* p = g.placeholder(n->name);
    p->meta = n->meta;
    p->stack_trace = n->stack_trace;
    p->module_path = n->module_path;
    copier.replace(*n, p);
    has[at(n)] = true;
  }
  for (const auto& n : joint.nodes()) {
    if (has[at(n.get())] || n->kind == NodeKind::placeholder || without[at(n.get())]) continue;
    bool can = true;
    for_each_node(n->args, [&](const Node* a) { can = can && has[at(a)]; });
    if (!can) continue;
    copier.copy(*n);
    has[at(n.get())] = true;
  }
  for (const Argument& a : outputs) {
    for_each_node(a, [&](const Node* n) { INGOT_REQUIRE(has[at(n)], "Node ", n->name, " was invalid, but is output"); });
    g.outputs.push_back(copier(a));
  }
  g.returns = Graph::Returns::list;
  return without_dead_code(g);
}

// What the forward does to its inputs, it does once.
std::vector<bool> effects_of_forward(const Graph& joint) {
  std::vector<bool> of_tangents(joint.nodes().size()), found(joint.nodes().size());
  for (const auto& n : joint.nodes()) {
    bool depends = is_tangent(*n);
    for_each_node(n->args, [&](const Node* a) { depends = depends || of_tangents[at(a)]; });
    of_tangents[at(n.get())] = depends;
    found[at(n.get())] = !depends && has_side_effect(joint, *n);
  }
  return found;
}

}  // namespace

Parts split(const Joint& whole, const std::vector<Node*>& saved, const std::vector<Node*>& integers) {
  const Graph& joint = whole.graph;
  std::vector<Node*> primals, tangents;
  for (Node* n : joint.inputs()) (is_tangent(*n) ? tangents : primals).push_back(n);
  const auto border = joint.outputs.begin() + whole.forward_outputs;
  std::vector<Argument> forward(joint.outputs.begin(), border), backward(border, joint.outputs.end());

  // R110: what no backward node uses is not kept.
  std::vector<Node*> inputs = integers;
  inputs.insert(inputs.end(), saved.begin(), saved.end());
  inputs.insert(inputs.end(), tangents.begin(), tangents.end());
  const std::vector<bool> effects = effects_of_forward(joint), none(joint.nodes().size());
  const Graph first = extract(joint, inputs, backward, effects);
  std::vector<bool> used(first.nodes().size());
  for (const auto& n : first.nodes()) for_each_node(n->args, [&](const Node* a) { used[at(a)] = true; });
  for_each_node(first.outputs, [&](const Node* a) { used[at(a)] = true; });
  std::vector<Node*> kept_integers, kept;
  for (std::size_t k = 0; k < inputs.size() - tangents.size(); k++)
    if (used[at(first.inputs()[k])]) (k < integers.size() ? kept_integers : kept).push_back(inputs[k]);

  Parts parts;
  parts.saved_tensors = static_cast<int>(kept.size());
  parts.saved_integers = static_cast<int>(kept_integers.size());
  for (const std::vector<Node*>* l : {&kept, &kept_integers})
    forward.insert(forward.end(), l->begin(), l->end());
  parts.forward = extract(joint, primals, forward, none);
  inputs = kept_integers;
  inputs.insert(inputs.end(), kept.begin(), kept.end());
  inputs.insert(inputs.end(), tangents.begin(), tangents.end());
  parts.backward = extract(joint, inputs, backward, effects);
  return parts;
}

Parts partition_default(const Joint& whole) {
  const Graph& joint = whole.graph;
  const int forward_outputs = whole.forward_outputs;
  std::vector<Node*> saved, integers;
  // What the forward's outputs need.
  std::vector<bool> forward(joint.nodes().size());
  for (int k = 0; k < forward_outputs; k++) for_each_node(joint.outputs[static_cast<std::size_t>(k)], [&](const Node* n) { forward[at(n)] = true; });
  for (std::size_t i = joint.nodes().size(); i-- > 0;) {
    const Node& n = *joint.nodes()[i];
    if (n.kind == NodeKind::placeholder) forward[i] = !is_tangent(n);
    if (forward[i]) for_each_node(n.args, [&](const Node* a) { forward[at(a)] = true; });
  }
  std::vector<std::vector<Node*>> outside(joint.nodes().size());  // users of a node that are not in the forward
  for (const auto& n : joint.nodes())
    if (!forward[at(n.get())]) for_each_node(n->args, [&](const Node* a) { outside[at(a)].push_back(n.get()); });
  std::vector<std::vector<Node*>> items(joint.nodes().size());  // of a call with several results, whoever uses them
  for (const auto& n : joint.nodes())
    if (n->kind == NodeKind::item) items[at(n->args[0].node())].push_back(n.get());
  std::vector<bool> is_result(joint.nodes().size());
  for (std::size_t k = static_cast<std::size_t>(forward_outputs); k < joint.outputs.size(); k++)
    for_each_node(joint.outputs[k], [&](const Node* n) { is_result[at(n)] = true; });
  const auto add = [](std::vector<Node*>& list, Node* n) {
    if (std::find(list.begin(), list.end(), n) == list.end()) list.push_back(n);
  };
  for (const auto& n : joint.nodes()) {
    if (!forward[at(n.get())]) continue;
    const std::vector<Node*>& users = outside[at(n.get())];
    if (n->meta.is_int()) {
      add(integers, n.get());
    } else if (n->meta.is_tensor()) {
      // Sizes are kept instead of the tensor they are read from.
      const bool only_sizes = !users.empty() && !is_result[at(n.get())] && std::all_of(users.begin(), users.end(), [](const Node* u) { return u->meta.is_int(); });
      if (!only_sizes) add(saved, n.get());
      else for (Node* u : users) add(integers, u);
    } else {  // the call runs once, so the backward gets every result that it uses
      for (Node* item : items[at(n.get())]) add(saved, item);
    }
  }
  return split(whole, saved, integers);
}

}  // namespace ingot::aot
