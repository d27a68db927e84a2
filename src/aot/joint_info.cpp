#include "aot/joint_info.hpp"

#include <algorithm>

#include "aot/loop_form.hpp"
#include "base/dtype.hpp"
#include "graph/dead_code.hpp"

namespace ingot::aot {

bool is_tangent(const Node& n) { return n.kind == NodeKind::placeholder && n.role == Role::tangent; }
bool is_view(const Node& n) { return n.kind == NodeKind::call && n.op->is_view(); }
bool is_random(const Node& n) { return n.kind == NodeKind::call && n.op->form() == Form::random; }
bool draws(const Graph& g, const Node& n) {
  if (is_random(n)) return true;
  if (n.kind != NodeKind::call || n.op->form() != Form::higher_order) return false;
  bool found = false;
  for_each_node(n.args, [&](const Node* a) {
    const Attribute* held = a->kind == NodeKind::attribute ? g.find_attribute(a->target) : nullptr;
    const auto* subgraph = held ? std::get_if<std::shared_ptr<const Graph>>(held) : nullptr;
    if (subgraph)
      for (const auto& inner : (*subgraph)->nodes()) found = found || draws(**subgraph, *inner);
  });
  return found;
}
bool can_draw_again(const Node& n) {
  if (!is_random(n)) return false;
  const int generator = n.op->schema.index_of("generator");
  return generator < 0 || static_cast<std::size_t>(generator) >= n.args.size() ||
         n.args[static_cast<std::size_t>(generator)].is_none();
}
bool joins(const Node& n) {
  if (n.kind != NodeKind::call || n.op->form() != Form::external || n.op->def->lower == nullptr || n.op->schema.args.empty())
    return false;
  const auto& first = n.op->schema.args[0].type;
  return first.kind == Kind::tensor && first.is_list();
}

bool is_recomputable(const Node& n) {
  if (n.kind == NodeKind::item || n.kind == NodeKind::scalar) return true;
  if (n.kind != NodeKind::call || has_side_effect(*n.op)) return false;
  switch (n.op->form()) {
    case Form::pointwise:
    case Form::reduction:
    case Form::view:
    case Form::factory: return true;
    case Form::composite: return n.meta.is_number();  // a question about sizes
    case Form::external: return !joins(n) && (loop_form(n).reads_few || is_cheap_program(n));
    default: return false;
  }
}
bool is_compute_intensive(const Node& n) {
  if (n.kind != NodeKind::call || n.op->form() != Form::external || is_recomputable(n)) return false;
  const LoopForm form = loop_form(n);
  return form.contracts || form.steps == 0;
}

int64_t bytes_of(const Value& v) {
  const auto bytes = [](const Tensor& t) { return size_of(t.dtype()) * elements_of(t); };
  if (v.is_tensor()) return bytes(v.tensor());
  if (v.is_float()) return 4;
  if (v.is_number()) return 1;
  int64_t n = 0;
  if (v.is_tensors())
    for (const Tensor& t : v.tensors()) n += t.defined() ? bytes(t) : 0;
  return n;
}

bool is_effect_of_backward(const Joint& joint, const Node& n) {
  if (joint.written_by_backward.empty() || n.kind != NodeKind::call || !n.op->mutates()) return false;
  return std::any_of(joint.written_by_backward.begin(), joint.written_by_backward.end(), [&](int k) {
    return n.args[0].is_node() && n.args[0].node() == joint.graph.inputs()[static_cast<std::size_t>(k)];
  });
}

JointInfo::JointInfo(const Joint& joint) : graph(joint.graph) {
  const std::size_t n = graph.nodes().size();
  for (std::vector<bool>* v : {&forward, &backward, &forward_result, &backward_result, &written, &recomputable, &fusible})
    v->assign(n, false);
  users.resize(n);
  distance.assign(n, kFar);
  order.assign(n, -1);
  keep.assign(n, Keep::unsaid);
  for (const auto& node : graph.nodes()) {
    recomputable[at(node.get())] = is_recomputable(*node);
    fusible[at(node.get())] = recomputable[at(node.get())] || is_random(*node);
    for_each_node(node->args, [&](const Node* a) {
      if (users[at(a)].empty() || users[at(a)].back() != node.get()) users[at(a)].push_back(node.get());
    });
  }
  find_written(joint.written);
  find_sides(joint);
  find_distances();
  find_policies();
}

void JointInfo::find_sides(const Joint& joint) {
  for (std::size_t k = 0; k < graph.outputs.size(); k++)
    for_each_node(graph.outputs[k], [&](const Node* n) {
      (k < static_cast<std::size_t>(joint.forward_outputs) ? forward_result : backward_result)[at(n)] = true;
    });
  for (const auto& n : graph.nodes()) {
    bool depends = is_tangent(*n) || is_effect_of_backward(joint, *n);
    for_each_node(n->args, [&](const Node* a) { depends = depends || backward[at(a)]; });
    backward[at(n.get())] = depends;
  }
  const auto reads_written = [&](const Node& n) {
    bool reads = false;
    for_each_node(n.args, [&](const Node* a) { reads = reads || written[at(a)]; });
    return reads && !is_view(n);
  };
  for (std::size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& n = *graph.nodes()[i];
    forward[i] = !backward[i] && (forward[i] || forward_result[i] || n.kind == NodeKind::placeholder ||
                                  has_side_effect(graph, n) || reads_written(n));
    if (forward[i]) for_each_node(n.args, [&](const Node* a) { forward[at(a)] = true; });
  }
  int count = 0;
  for (std::size_t i = 0; i < graph.nodes().size(); i++)
    if (forward[i]) order[i] = count++;
}

void JointInfo::find_distances() {
  for (std::size_t i = graph.nodes().size(); i-- > 0;) {
    if (!forward[i]) distance[i] = 0;
    else
      for (const Node* u : users[i]) distance[i] = std::min(distance[i], distance[at(u)] + 1);
  }
}

void JointInfo::find_written(const std::vector<int>& primals) {
  for (const int k : primals) written[at(graph.inputs()[static_cast<std::size_t>(k)])] = true;
  for (const auto& n : graph.nodes())  // an item of a list that is written is one of the views that made the list
    if ((is_view(*n) || n->kind == NodeKind::item) && n->args[0].is_node() && written[at(n->args[0].node())])
      written[at(n.get())] = true;
}

void JointInfo::find_policies() {
  std::vector<int> region(keep.size());
  for (const auto& n : graph.nodes()) {
    const std::size_t i = at(n.get());
    if (n->kind == NodeKind::item) {  // what is said of a call is said of each of its results
      keep[i] = keep[at(n->args[0].node())];
      region[i] = region[at(n->args[0].node())];
    } else if (n->saving) {
      keep[i] = n->saving->keep;
      region[i] = n->saving->region;
    }
  }
  std::vector<bool> crosses(keep.size());  // R128
  for (const auto& n : graph.nodes()) {
    if (keep[at(n.get())] != Keep::recompute) continue;
    const std::vector<Node*>& u = users[at(n.get())];
    crosses[at(n.get())] = std::any_of(
        u.begin(), u.end(), [&](const Node* x) { return keep[at(x)] == Keep::recompute && region[at(x)] > region[at(n.get())]; });
  }
  for (std::size_t i = 0; i < keep.size(); i++)
    if (crosses[i]) keep[i] = Keep::save;
}

bool JointInfo::any_said() const {
  return std::any_of(keep.begin(), keep.end(), [](Keep k) { return k != Keep::unsaid; });
}

bool JointInfo::reads_written(const Node& n) const {
  bool found = false;
  for_each_node(n.args, [&](const Node* a) { found = found || written[at(a)]; });
  return found;
}

bool JointInfo::must_recompute(const Node& n) const {
  if (n.kind == NodeKind::item && !must_recompute(*n.args[0].node())) return false;  // there is no list to take it from
  return keep[at(&n)] == Keep::recompute && !backward[at(&n)] && n.kind != NodeKind::placeholder &&
         (draws(graph, n) ? can_draw_again(n) : !has_side_effect(graph, n)) && !reads_written(n);
}

}  // namespace ingot::aot
