#include "aot/recompute_rules.hpp"

#include <algorithm>
#include <limits>
#include <queue>

#include "graph/dead_code.hpp"

namespace ingot::aot {
namespace {

constexpr int kVeryFar = 1000;   // R119: from here on the distance says nothing
constexpr int kLongChain = 100;  // R123

class Rules {
 public:
  Rules(const JointInfo& joint, const MinCutOptions& options, const std::vector<bool>& allowed)
      : j_(joint), options_(options), allowed_(allowed), size_(joint.graph.nodes().size()), banned_(size_) {}

  std::vector<bool> run() {
    find_materialized();
    for (const auto& n : j_.graph.nodes()) {
      if (n->kind == NodeKind::placeholder) banned_[at(n.get())] = true;  // R118; what is a tangent is never asked for
      else if (j_.forward[at(n.get())] && (cannot_run_again(*n) || is_banned(*n))) ban(*n);
    }
    if (options_.ban_used_far_apart) ban_used_far_apart();
    if (options_.ban_long_fusible_chains) ban_long_chains();
    return std::move(banned_);
  }

 private:
  const JointInfo& j_;
  const MinCutOptions& options_;
  const std::vector<bool>& allowed_;
  std::size_t size_;
  std::vector<bool> banned_, materialized_;

  // A random call would draw other numbers, so its result is kept whatever the budget says, unless
  // the author wants it again: then it has the state of the stream that it had (R127). An effect is
  // had once.
  bool cannot_run_again(const Node& n) const { return draws(j_.graph, n) ? !j_.must_recompute(n) : has_side_effect(j_.graph, n); }

  void ban(const Node& n) {
    if (!cannot_run_again(n)) {
      if (is_view(n) || j_.must_recompute(n) || n.meta.is_float()) return;
      if (!allowed_.empty() && allowed_[at(&n)]) return;
    }
    banned_[at(&n)] = true;
  }

  // Whether the backward, also through views, has a user that does not take the value in as it is
  // made.
  void find_materialized() {
    materialized_.assign(size_, false);
    for (std::size_t i = size_; i-- > 0;) {
      const Node* n = j_.graph.nodes()[i].get();
      materialized_[i] = std::any_of(j_.users[i].begin(), j_.users[i].end(), [&](const Node* u) {
        return (!j_.forward[at(u)] && !j_.fuses(n, u)) || (is_view(*u) && materialized_[at(u)]);
      });
    }
  }

  bool is_banned(const Node& n) const {  // R119
    const std::size_t i = at(&n);
    if (j_.keep[i] == Keep::save) return n.kind == NodeKind::call || n.kind == NodeKind::item;
    if (n.kind != NodeKind::call && n.kind != NodeKind::scalar) return false;
    if (is_view(n) && options_.recompute_views) return false;
    if (options_.ban_not_in_allowlist ? !j_.recomputable[i] : is_compute_intensive(n)) return true;
    if (options_.ban_materialized && !is_view(n) && materialized_[i]) return true;
    if (j_.distance[i] > options_.max_distance && j_.distance[i] < kVeryFar) return true;
    if (!options_.ban_reductions) return false;
    int64_t given = 0;
    for_each_node(n.args, [&](const Node* a) { given += bytes_of(a->meta); });
    return bytes_of(n.meta) * 4 < given;
  }

  // R122. Where the loops that start at a node end: the first position among everything its users
  // lead to that no loop can include. One walk back over the graph finds it for all nodes.
  void ban_used_far_apart() {
    constexpr int kNever = std::numeric_limits<int>::max();
    std::vector<int> first_break(size_, kNever);
    for (std::size_t i = size_; i-- > 0;)
      for (const Node* u : j_.users[i])
        if (j_.forward[at(u)])
          first_break[i] =
              std::min(first_break[i], j_.fuses(j_.graph.nodes()[i].get(), u) ? first_break[at(u)] : j_.order[at(u)]);
    for (const auto& n : j_.graph.nodes()) {
      if (!j_.forward[at(n.get())]) continue;
      int end = kNever, last = -1;
      for (const Node* u : j_.users[at(n.get())]) {
        if (!j_.forward[at(u)]) continue;
        end = std::min(end, first_break[at(u)]);
        last = std::max(last, j_.order[at(u)]);
      }
      for (const Node* u : j_.users[at(n.get())])
        if (j_.forward[at(u)] && j_.order[at(u)] > std::min(end, last) && j_.fuses(n.get(), u)) ban(*u);
    }
  }

  // R123. From each node along what can be one loop with it, in order; where a walk has but one way
  // to go on and came far, it ends.
  void ban_long_chains() {
    std::vector<bool> visited(size_);
    const auto later = [&](const Node* a, const Node* b) { return j_.order[at(a)] > j_.order[at(b)]; };
    for (const auto& start : j_.graph.nodes()) {
      if (!j_.forward[at(start.get())]) continue;
      std::priority_queue<const Node*, std::vector<const Node*>, decltype(later)> open(later);
      open.push(start.get());
      while (!open.empty()) {
        const Node* n = open.top();
        open.pop();
        if (visited[at(n)]) continue;
        visited[at(n)] = true;
        if (j_.order[at(n)] > j_.order[at(start.get())] + kLongChain && open.empty()) {
          ban(*n);
          break;
        }
        for (const Node* u : j_.users[at(n)])
          if (j_.forward[at(u)] && j_.fuses(n, u) && !banned_[at(u)]) open.push(u);
      }
    }
  }
};

}  // namespace

std::vector<bool> banned_from_recompute(const JointInfo& joint, const MinCutOptions& options, const std::vector<bool>& allowed) {
  return Rules(joint, options, allowed).run();
}

std::vector<bool> in_memory(const JointInfo& joint) {
  std::vector<bool> found(joint.graph.nodes().size());
  for (const auto& n : joint.graph.nodes()) {
    const std::size_t i = at(n.get());
    found[i] = n->kind == NodeKind::placeholder || joint.forward_result[i] || joint.backward_result[i] ||
               std::any_of(joint.users[i].begin(), joint.users[i].end(), [&](const Node* u) { return !joint.fuses(n.get(), u); });
  }
  return found;
}

}  // namespace ingot::aot
