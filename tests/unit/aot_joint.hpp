// Joint graphs made by hand, for tests of the partitioners.
#pragma once
#include <random>
#include <set>

#include "aot/joint_info.hpp"
#include "aot/min_cut.hpp"
#include "op/call.hpp"

namespace ingot::aot {

inline Tensor fake_of(const Shape& sizes, DType dtype = DType::f32) {
  return make_tensor(Geometry::contiguous(sizes, dtype), {}, true);
}

// The placeholders first, then calls with the sizes their results have.
struct JointBuilder {
  Graph g;
  std::vector<Node*> primals, tangents;

  JointBuilder(const std::vector<Shape>& primal_sizes, const std::vector<Shape>& tangent_sizes) {
    for (const Shape& s : primal_sizes) primals.push_back(input(text("primals_", primals.size() + 1), fake_of(s)));
    for (const Shape& s : tangent_sizes) tangents.push_back(tangent(text("tangents_", tangents.size() + 1), fake_of(s)));
  }
  Node* input(std::string_view name, Value meta) {
    Node* n = g.placeholder(name);
    n->meta = std::move(meta);
    return n;
  }
  Node* tangent(std::string_view name, Value meta) {
    Node* n = input(name, std::move(meta));
    n->role = Role::tangent;
    return n;
  }
  Node* call(std::string_view name, std::vector<Argument> args, const Shape& sizes, DType dtype = DType::f32) {
    Node* n = g.call(op(name), std::move(args));
    n->meta = fake_of(sizes, dtype);
    return n;
  }
  // A call with an operand of any size: what is asked of it is its form.
  Node* sin(Node* x) { return call("sin", {x}, x->meta.tensor().sizes()); }
  Node* mul(Node* x, Node* y) { return call("mul.Tensor", {x, y}, x->meta.tensor().sizes()); }
  Node* mm(Node* x, Node* y) { return call("mm", {x, y}, x->meta.tensor().sizes()); }
  Joint joint(std::vector<Argument> outputs, int forward_outputs) {
    g.outputs = std::move(outputs);
    return {g, forward_outputs};
  }
};

inline std::vector<std::string> names_of(const std::vector<Node*>& nodes) {
  std::vector<std::string> names;
  for (const Node* n : nodes) names.push_back(n->name);
  return names;
}
inline std::vector<std::string> names_of(const std::vector<Argument>& outputs) {
  std::vector<std::string> names;
  for (const Argument& a : outputs) names.push_back(a.is_node() ? a.node()->name : "None");
  return names;
}
inline std::set<std::string> calls_of(const Graph& g) {
  std::set<std::string> names;
  for (const auto& n : g.nodes())
    if (n->kind == NodeKind::call) names.insert(n->name);
  return names;
}
inline std::vector<std::string> saved_by_min_cut(const Joint& joint, const MinCutOptions& options = {}) {
  return names_of(min_cut(joint.graph, cut_problem(JointInfo(joint), options)));
}

// A joint graph of pointwise ops and products: the forward over primals, the backward over all of
// it. `live`: each node is made of the one before it, so that none is dead code.
inline Graph random_joint(std::mt19937& random, int forward_nodes, int backward_nodes, bool live = false) {
  Graph g;
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const auto fake = [&] { return fake_of({static_cast<int64_t>(1 + below(30))}); };
  std::vector<Node*> forward, backward;
  for (int k = 0; k < 2; k++) forward.push_back(g.placeholder(text("primals_", k + 1)));
  backward.push_back(g.placeholder("tangents_1", Role::tangent));
  for (Node* n : {forward[0], forward[1], backward[0]}) n->meta = fake();
  const Op &add = op_ref<"mul.Tensor">(), &mm = op_ref<"mm">();
  for (int k = 0; k < forward_nodes; k++) {
    const bool is_costly = below(4) == 0;
    Node *x = live ? forward.back() : forward[below(forward.size())], *y = forward[below(forward.size())];
    forward.push_back(g.call(is_costly ? mm : add, {x, y}));
    forward.back()->meta = fake();
  }
  for (int k = 0; k < backward_nodes; k++) {
    Node* a = forward[below(forward.size())];
    backward.push_back(g.call(add, {a, live ? backward.back() : backward[below(backward.size())]}));
    backward.back()->meta = fake();
  }
  g.outputs = {forward.back(), backward.back(), Argument()};
  return g;
}

}  // namespace ingot::aot
