#include "aot/partition.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_set>

#include "aot/joint_info.hpp"
#include "aot/min_cut.hpp"
#include "aot/passes.hpp"
#include "base/error.hpp"
#include "expr/guards.hpp"
#include "graph/copy.hpp"
#include "graph/dead_code.hpp"
#include "graph/same.hpp"
#include "graph/shape_env.hpp"
#include "ingot/aot/function.hpp"

namespace ingot::aot {
namespace {

// R109. By id: what the outputs need, or what does something, of the nodes that can be computed of
// `inputs`; of the inputs, those that any of it uses. `others`: by id, what the other part does.
// That is no business of this one, but for a draw, which may be made again where it is needed
// (R127).
std::vector<bool> needed_for(const Graph& joint, const std::vector<Node*>& inputs, const std::vector<Argument>& outputs,
                             const std::vector<bool>& others) {
  std::vector<bool> given(joint.nodes().size()), has(joint.nodes().size()), needed(joint.nodes().size());
  for (const Node* n : inputs) given[at(n)] = has[at(n)] = true;
  for (const auto& n : joint.nodes()) {
    if (given[at(n.get())] || n->kind == NodeKind::placeholder || (others[at(n.get())] && !is_random(*n))) continue;
    bool can = true;
    for_each_node(n->args, [&](const Node* a) { can = can && has[at(a)]; });
    has[at(n.get())] = can;
  }
  for_each_node(outputs, [&](const Node* n) {
    INGOT_REQUIRE(has[at(n)], "Node ", n->name, " was invalid, but is output");
    needed[at(n)] = true;
  });
  for (std::size_t i = joint.nodes().size(); i-- > 0;) {
    const Node& n = *joint.nodes()[i];
    if (!has[i] || given[i] || !(needed[i] || (has_side_effect(joint, n) && !others[i]))) continue;
    needed[i] = true;
    for_each_node(n.args, [&](const Node* a) { needed[at(a)] = true; });
  }
  return needed;
}

Graph extract(const Graph& joint, const std::vector<Node*>& inputs, const std::vector<Argument>& outputs,
              const std::vector<bool>& others) {
  const std::vector<bool> needed = needed_for(joint, inputs, outputs, others);
  Graph g;
  GraphCopier copier(joint, g);
  std::vector<bool> given(joint.nodes().size());
  for (const Node* n : inputs) {
    Node* p = g.placeholder(n->name, n->role);
    p->meta = n->meta;
    p->stack_trace = n->stack_trace;
    p->module_path = n->module_path;
    copier.replace(*n, p);
    given[at(n)] = true;
  }
  for (const auto& n : joint.nodes())
    if (needed[at(n.get())] && !given[at(n.get())]) copier.copy(*n);
  for (const Argument& a : outputs) g.outputs.push_back(copier(a));
  g.returns = Graph::Returns::list;
  return g;
}

// What is bound must outlive the pass.
Pass part_pass(StepName name, const std::vector<Node*>& inputs, const std::vector<Argument>& outputs,
               const std::vector<bool>& others) {
  return {name.name, [&](const Graph& joint) { return extract(joint, inputs, outputs, others); }, name.required};
}

// What each part does to its inputs, it does once: by id, the effects of either.
struct Effects {
  std::vector<bool> of_forward, of_backward;
};
Effects effects_of(const Joint& whole) {
  const std::size_t count = whole.graph.nodes().size();
  std::vector<bool> of_tangents(count);
  Effects e{std::vector<bool>(count), std::vector<bool>(count)};
  for (const auto& n : whole.graph.nodes()) {
    bool depends = is_tangent(*n) || is_effect_of_backward(whole, *n);
    for_each_node(n->args, [&](const Node* a) { depends = depends || of_tangents[at(a)]; });
    of_tangents[at(n.get())] = depends;
    if (has_side_effect(whole.graph, *n)) (depends ? e.of_backward : e.of_forward)[at(n.get())] = true;
  }
  return e;
}

// ---- R111: symbols of the backward's inputs

using Symbols = std::map<std::string, Expr>;  // by name

void add_symbols(Int v, Symbols& found) {
  if (v.is_number()) return;
  visit(v.expr(), [&](const Expr& e) {
    if (e.op() == ExprOp::Sym) found.try_emplace(e->name, e);
  });
}
Symbols symbols_of(const Value& v) {
  Symbols found;
  if (v.is_int()) add_symbols(v.to_int(), found);
  if (v.is_tensor()) {
    for (const Shape* s : {&v.tensor().sizes(), &v.tensor().strides()})
      for (const Int i : *s) add_symbols(i, found);
    add_symbols(v.tensor().storage_offset(), found);
  }
  return found;
}

// The name of the symbol that the node gives its value: an integer among the inputs does, and what
// reads a number or a size that only data decides. Empty: none. (A size of an input has its value
// from the input.)
std::string symbol_bound_by(const Node& n) {
  if (!n.meta.is_int() || n.meta.to_int().is_number() || n.meta.to_int().expr().op() != ExprOp::Sym) return {};
  const std::string name = n.meta.to_int().expr()->name;
  if (n.kind == NodeKind::placeholder) return name;
  const auto* env = dynamic_cast<const ShapeEnv*>(current_guard_env());
  const ShapeEnv::Symbol* s = env ? env->find(name) : nullptr;
  return s && !s->hint ? name : "";
}

std::vector<Node*> with_bindings(const Graph& joint, const std::vector<Node*>& integers, const std::vector<Node*>& tensors,
                                 const std::vector<Node*>& tangents) {
  std::vector<Node*> bindings, derived;
  std::unordered_set<std::string> bound;
  for (Node* n : integers) {
    const std::string name = symbol_bound_by(*n);
    (name.empty() ? derived : bindings).push_back(n);
    if (!name.empty()) bound.insert(name);
  }
  std::map<std::string, Node*> binder;
  for (const auto& n : joint.nodes())
    if (const std::string name = symbol_bound_by(*n); !name.empty()) binder.try_emplace(name, n.get());
  if (!binder.empty())
    for (const std::vector<Node*>& l : {derived, tensors, tangents})
      for (const Node* n : l)
        for (const auto& [name, symbol] : symbols_of(n->meta))
          if (const auto b = binder.find(name); bound.insert(name).second && b != binder.end()) bindings.push_back(b->second);
  bindings.insert(bindings.end(), derived.begin(), derived.end());
  return bindings;
}

// Of what a part returns, and of what that is a view of: a compiler that takes the view after the
// call computes the latter.
void say_roles_of_results(const Graph& part, std::size_t own, Role of_others) {
  std::vector<bool> said(part.nodes().size());
  for (std::size_t k = 0; k < part.outputs.size(); k++)
    for_each_node(part.outputs[k], [&](const Node* n) {
      for (; n != nullptr && n->kind != NodeKind::placeholder && !said[at(n)]; n = viewed(*n)) {
        said[at(n)] = true;
        part.nodes()[at(n)]->role = k < own ? Role::value : of_others;
      }
    });
}

}  // namespace

SavePlan plan_of(const std::vector<Node*>& saved) {
  SavePlan plan;
  std::unordered_set<const Node*> seen;
  for (const Node* n : saved) {
    const Node* storage = storage_of(n);
    const bool costs = storage->kind != NodeKind::placeholder && seen.insert(storage).second;
    plan.values.push_back({n->name, costs ? bytes_of(storage->meta) : 0});
    plan.bytes += plan.values.back().bytes;
  }
  return plan;
}

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
  const Effects effects = effects_of(whole);
  const std::vector<bool> used = needed_for(joint, inputs, backward, effects.of_forward);
  std::vector<Node*> kept_integers, kept;
  for (Node* n : integers)
    if (used[at(n)]) kept_integers.push_back(n);
  for (Node* n : saved)
    if (used[at(n)]) kept.push_back(n);
  kept_integers = with_bindings(joint, kept_integers, kept, tangents);

  Parts parts;
  parts.plan = plan_of(kept);
  parts.saved_tensors = static_cast<int>(kept.size());
  parts.saved_integers = static_cast<int>(kept_integers.size());
  for (const std::vector<Node*>* l : {&kept, &kept_integers}) forward.insert(forward.end(), l->begin(), l->end());
  parts.forward = run_passes(joint, std::array{part_pass(kForwardPart, primals, forward, effects.of_backward)});
  inputs = kept_integers;
  inputs.insert(inputs.end(), kept.begin(), kept.end());
  inputs.insert(inputs.end(), tangents.begin(), tangents.end());
  parts.backward = run_passes(joint, std::array{part_pass(kBackwardPart, inputs, backward, effects.of_forward)});
  return parts;
}

void say_roles(Parts& parts, std::size_t results) {
  for (Node* n : parts.backward.inputs())
    if (!is_tangent(*n)) n->role = Role::saved;
  say_roles_of_results(parts.forward, results, Role::saved);
  say_roles_of_results(parts.backward, 0, Role::gradient);
}

Partitioner default_partitioner() { return partition_default; }

Parts partition_default(const Joint& whole) {
  const JointInfo info(whole);
  if (info.any_said()) return partition_min_cut(whole);
  std::vector<Node*> saved, integers;
  std::vector<bool> listed(whole.graph.nodes().size());
  const auto add = [&](std::vector<Node*>& list, Node* n) {
    if (!listed[at(n)]) list.push_back(n);
    listed[at(n)] = true;
  };
  for (const auto& n : whole.graph.nodes()) {
    const std::size_t i = at(n.get());
    if (!info.forward[i]) continue;
    if (n->meta.is_int()) {
      add(integers, n.get());
    } else if (n->meta.is_tensor()) {
      std::vector<Node*> outside;
      for (Node* u : info.users[i])
        if (!info.forward[at(u)]) outside.push_back(u);
      // Sizes are kept instead of the tensor they are read from.
      const bool only_sizes =
          !info.backward_result[i] && std::all_of(outside.begin(), outside.end(), [](const Node* u) { return u->meta.is_int(); });
      if (!only_sizes) add(saved, n.get());
      else
        for (Node* u : outside) add(integers, u);
    } else if (n->kind == NodeKind::call || n->kind == NodeKind::item) {  // a list is kept by its elements
      for (Node* u : info.users[i])
        if (u->kind == NodeKind::item && !info.backward[at(u)] && !is_list(u->meta)) add(u->meta.is_int() ? integers : saved, u);
    }
  }
  return split(whole, saved, integers);
}

}  // namespace ingot::aot
