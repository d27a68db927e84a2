#include "aot/min_cut.hpp"

#include <algorithm>
#include <cmath>

#include "aot/max_flow.hpp"
#include "base/dtype.hpp"
#include "op/call.hpp"

namespace ingot::aot {
namespace {

constexpr int kFar = 1'000'000;
constexpr int64_t kOpenSize = 64;  // of a size that is not known (R120)
constexpr int kDistanceLimit = 100;
constexpr int64_t kLastResort = int64_t{1} << 50;  // of what should not be kept, and may be all there is

std::size_t at(const Node* n) { return static_cast<std::size_t>(n->id); }

int64_t bytes_of(const Tensor& t) {
  int64_t n = size_of(t.dtype());
  for (const Int s : t.sizes()) n *= s.is_symbolic() ? kOpenSize : std::max<int64_t>(1, s.value());
  return n;
}
int64_t bytes_of(const Value& v) {
  if (v.is_tensor()) return bytes_of(v.tensor());
  int64_t n = 0;
  if (v.is_tensors())
    for (const Tensor& t : v.tensors()) n += t.defined() ? bytes_of(t) : 0;
  return n;
}

// R124 by form: formulas, folds, views and factories are cheap to do again, and so is what only moves elements. Products are
// what autocast runs in lower precision, for the same reason: they are where the time goes.
bool is_recomputable(const Node& n) {
  if (n.kind == NodeKind::item || n.kind == NodeKind::scalar) return true;
  if (n.kind != NodeKind::call || n.op->mutates()) return false;
  switch (n.op->form()) {
    case Form::pointwise:
    case Form::reduction:
    case Form::view:
    case Form::factory: return true;
    case Form::external: return n.op->def->lower && n.op->def->autocast != Autocast::lower_precision;
    default: return false;
  }
}
bool is_view(const Node& n) { return n.kind == NodeKind::call && n.op->is_view(); }
bool is_tangent(const Node& n) { return n.kind == NodeKind::placeholder && n.name.starts_with("tangents_"); }
// R121: whether both are part of one loop over elements.
bool is_fusible(const Node& n) { return is_recomputable(n) || (n.kind == NodeKind::call && n.op->form() == Form::random); }

class Problem {
 public:
  Problem(const Joint& whole, const MinCutOptions& options)
      : joint_(whole.graph), options_(options), size_(whole.graph.nodes().size()), forward_(size_), users_(size_), distance_(size_, kFar), written_(size_) {
    r_.weight.assign(size_, 0);
    r_.banned.assign(size_, false);
    r_.backward.assign(size_, false);
    r_.returned.assign(size_, false);
    for (const auto& n : joint_.nodes())
      for_each_node(n->args, [&](const Node* a) { users_[at(a)].push_back(n.get()); });
    find_sides(whole.forward_outputs);
    find_distances();
    find_written(whole.written);
  }

  CutProblem run() {
    for (const auto& n : joint_.nodes()) {
      r_.banned[at(n.get())] = n->kind == NodeKind::placeholder || (forward_[at(n.get())] && is_banned(*n));
      r_.weight[at(n.get())] = weight(*n);
    }
    return std::move(r_);
  }

 private:
  const Graph& joint_;
  const MinCutOptions& options_;
  std::size_t size_;
  std::vector<bool> forward_;  // what the forward's outputs need
  std::vector<std::vector<const Node*>> users_;
  std::vector<int> distance_;  // from the backward (R116)
  std::vector<bool> written_;  // a primal that the call writes, or a view of one: its bytes are others when the backward runs
  CutProblem r_;

  void find_sides(int forward_outputs) {
    for (const auto& n : joint_.nodes()) {
      bool backward = is_tangent(*n);
      for_each_node(n->args, [&](const Node* a) { backward = backward || r_.backward[at(a)]; });
      r_.backward[at(n.get())] = backward;
    }
    for (std::size_t k = 0; k < joint_.outputs.size(); k++)
      for_each_node(joint_.outputs[k], [&](const Node* n) {
        if (k < static_cast<std::size_t>(forward_outputs)) forward_[at(n)] = true;
        else r_.returned[at(n)] = !r_.backward[at(n)];
      });
    for (std::size_t i = size_; i-- > 0;)
      if (forward_[i]) for_each_node(joint_.nodes()[i]->args, [&](const Node* a) { forward_[at(a)] = true; });
  }
  void find_distances() {
    for (std::size_t i = size_; i-- > 0;) {
      if (!forward_[i]) {
        distance_[i] = 0;
        continue;
      }
      for (const Node* u : users_[i]) distance_[i] = std::min(distance_[i], distance_[at(u)] + 1);
    }
  }
  void find_written(const std::vector<int>& primals) {
    for (const int k : primals) written_[at(joint_.inputs()[static_cast<std::size_t>(k)])] = true;
    for (const auto& n : joint_.nodes())
      if (is_view(*n) && n->args[0].is_node() && written_[at(n->args[0].node())]) written_[at(n.get())] = true;
  }

  // Whether the backward must have it in memory: one of its users there is no loop that could compute it on the way.
  bool is_materialized_in_backward(const Node& n) const {
    return std::any_of(users_[at(&n)].begin(), users_[at(&n)].end(), [&](const Node* u) {
      if (r_.backward[at(u)] && !is_fusible(*u)) return true;
      return is_view(*u) && is_materialized_in_backward(*u);
    });
  }
  // R119.
  bool is_banned(const Node& n) const {
    if (n.kind != NodeKind::call || is_view(n)) return false;
    if (!is_recomputable(n)) return true;
    if (options_.ban_materialized && is_materialized_in_backward(n)) return true;
    if (distance_[at(&n)] > options_.max_distance && distance_[at(&n)] < 1000) return true;
    if (!options_.ban_reductions || n.op->form() != Form::reduction) return false;
    int64_t given = 0;
    for_each_node(n.args, [&](const Node* a) { given += bytes_of(a->meta); });
    return bytes_of(n.meta) * 4 < given;
  }
  // R120.
  int64_t weight(const Node& n) const {
    if (n.meta.is_int()) return 1;
    if (!n.meta.is_tensor()) return FlowNetwork::kInfinite;
    if (written_[at(&n)]) return kLastResort;
    const bool is_in_memory = n.kind == NodeKind::placeholder || !is_fusible(n) ||
                              std::any_of(users_[at(&n)].begin(), users_[at(&n)].end(), [](const Node* u) { return !is_fusible(*u); });
    const double factor = std::pow(1.1, std::max(std::min(distance_[at(&n)], kDistanceLimit), 1));
    const auto bytes = static_cast<int64_t>(static_cast<double>(bytes_of(n.meta.tensor())) * factor);
    return is_in_memory ? bytes : 2 * bytes;
  }
};

}  // namespace

CutProblem cut_problem(const Joint& joint, const MinCutOptions& options) { return Problem(joint, options).run(); }

// R117: a node is an edge from its entry (2 id) to its exit (2 id + 1), which costs what keeping it costs.
std::vector<Node*> min_cut(const Graph& joint, const CutProblem& problem) {
  const std::size_t n = joint.nodes().size(), source = 2 * n, sink = 2 * n + 1;
  FlowNetwork network(2 * n + 2);
  constexpr int64_t kInfinite = FlowNetwork::kInfinite;
  for (const auto& node : joint.nodes()) {
    const std::size_t i = at(node.get());
    if (problem.backward[i]) {
      network.add_edge(2 * i, sink, kInfinite);
      continue;
    }
    if (problem.banned[i]) network.add_edge(source, 2 * i, kInfinite);
    network.add_edge(2 * i, 2 * i + 1, problem.weight[i]);
    if (problem.returned[i]) network.add_edge(2 * i + 1, sink, kInfinite);
  }
  for (const auto& node : joint.nodes())
    for_each_node(node->args, [&](const Node* a) {
      if (!problem.backward[at(a)]) network.add_edge(2 * at(a) + 1, 2 * at(node.get()), kInfinite);
    });
  const std::vector<bool> side = network.min_cut(source, sink);
  std::vector<Node*> saved;
  for (const auto& node : joint.nodes())
    if (!problem.backward[at(node.get())] && side[2 * at(node.get())] && !side[2 * at(node.get()) + 1]) saved.push_back(node.get());
  return saved;
}

Parts partition_min_cut(const Joint& joint, const MinCutOptions& options) {
  const CutProblem problem = cut_problem(joint, options);
  if (std::none_of(problem.backward.begin(), problem.backward.end(), [](bool b) { return b; })) return partition_default(joint);
  std::vector<Node*> tensors, integers;
  for (Node* n : min_cut(joint.graph, problem)) (n->meta.is_int() ? integers : tensors).push_back(n);
  return split(joint, tensors, integers);
}

}  // namespace ingot::aot
