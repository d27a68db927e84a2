#include "aot/budget.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "aot/loop_form.hpp"
#include "aot/measured_time.hpp"
#include "base/error.hpp"
#include "graph/dead_code.hpp"

namespace ingot::aot {
namespace {

constexpr int kShares = 32;  // of the memory that the knapsack is asked for

int64_t size_of_saved(const std::vector<Node*>& saved) {
  int64_t n = 0;
  for (const Node* s : saved) n += s->meta.is_tensor() ? bytes_of(s->meta) : 0;
  return n;
}

std::vector<Node*> tensors_of(const std::vector<Node*>& saved) {
  std::vector<Node*> t;
  std::copy_if(saved.begin(), saved.end(), std::back_inserter(t), [](const Node* n) { return n->meta.is_tensor(); });
  return t;
}

class Solver {
 public:
  Solver(const JointInfo& joint, const MinCutOptions& options) : j_(joint), options_(options) {}

  Choice run() {
    const double ratio = memory_budget();
    const std::vector<Node*> plain = cut(options_, {});
    if (options_.activation_bytes) {
      const int64_t limit = *options_.activation_bytes;
      INGOT_REQUIRE(limit >= 0, "a budget for activations should be bytes, found ", limit);
      return first_that_fits(
          plain, [](const std::vector<Node*>& s) { return static_cast<double>(plan_of(tensors_of(s)).bytes); },
          [&](double bytes) { return bytes <= static_cast<double>(limit); });
    }
    if (ratio == 1) return {plain, true};
    if (ratio == 0) return {only_inputs(), true};
    int64_t inputs = 0;
    for (const Node* n : j_.graph.inputs())
      if (!is_tangent(*n) && n->meta.is_tensor()) inputs += bytes_of(n->meta);
    const int64_t most = size_of_saved(plain);
    if (most <= inputs) return {plain, true};
    return first_that_fits(
        plain,
        [&](const std::vector<Node*>& s) {
          return static_cast<double>(size_of_saved(s) - inputs) / static_cast<double>(most - inputs);
        },
        [&](double share) { return share < ratio; });
  }

 private:
  const JointInfo& j_;
  const MinCutOptions& options_;

  // What keeping the node saves in time.
  double worth_of(const Node& n) const {
    switch (options_.estimator) {
      case RuntimeEstimator::flops: return std::max(1.0, estimated_steps(n));
      case RuntimeEstimator::profile: return std::max(1.0, measured_nanoseconds(n));
      case RuntimeEstimator::testing: return 1;
    }
    return 1;
  }

  // The author's, where a node has one.
  double memory_budget() const {
    double b = options_.memory_budget;
    for (const auto& n : j_.graph.nodes())
      if (n->saving && n->saving->memory_budget) {
        b = *n->saving->memory_budget;
        break;
      }
    INGOT_REQUIRE(b >= 0 && b <= 1, "The valid ranges for memory budget are 0 <= m <= 1. The provided value is ", b);
    return b;
  }

  std::vector<Node*> cut(const MinCutOptions& o, const std::vector<bool>& allowed) const {
    return min_cut(j_.graph, cut_problem(j_, o, allowed));
  }

  // Everything that can be is made of the inputs, which cost nothing: they are there anyway.
  std::vector<Node*> only_inputs() const {
    CutProblem p = cut_problem(j_, options_, std::vector<bool>(j_.graph.nodes().size(), true));
    for (const Node* n : j_.graph.inputs())
      if (n->meta.is_tensor() && !j_.written[at(n)]) p.weight[at(n)] = 0;
    return min_cut(j_.graph, p);
  }

  Choice first_that_fits(const std::vector<Node*>& plain, const std::function<double(const std::vector<Node*>&)>& measure,
                         const std::function<bool(double)>& fits) const {
    Choice least{plain, false};
    double smallest = measure(plain);
    if (fits(smallest)) return {plain, true};
    const auto try_one = [&](const std::vector<Node*>& saved) {
      const double m = measure(saved);
      if (m < smallest) {
        smallest = m;
        least.saved = saved;
      }
      return fits(m);
    };
    MinCutOptions o = options_;
    o.ban_used_far_apart = o.ban_long_fusible_chains = o.ban_materialized = false;
    if (std::vector<Node*> saved = cut(o, {}); try_one(saved)) return {std::move(saved), true};
    o.ban_not_in_allowlist = false;
    if (std::vector<Node*> saved = cut(o, {}); try_one(saved)) return {std::move(saved), true};

    // What only the rules keep from being computed again: what it takes in memory, and in time.
    const CutProblem most_freedom = cut_problem(j_, o);
    std::vector<const Node*> items;
    std::vector<int64_t> sizes;
    std::vector<double> values;
    for (const auto& n : j_.graph.nodes()) {
      const std::size_t i = at(n.get());
      if (!most_freedom.banned[i] || n->kind == NodeKind::placeholder || j_.distance[i] == JointInfo::kFar ||
          j_.keep[i] == Keep::save || draws(j_.graph, *n) || has_side_effect(j_.graph, *n))
        continue;
      items.push_back(n.get());
      sizes.push_back(bytes_of(n->meta));
      values.push_back(worth_of(*n));
    }
    const int64_t memory = std::max<int64_t>(1, plan_of(tensors_of(plain)).bytes);
    const Knapsack knapsack(sizes, values, memory);
    std::vector<bool> last;
    for (int share = kShares; share > 0; share--) {
      const int64_t room = memory / kShares * share;
      const std::vector<bool> kept = options_.solver == KnapsackSolver::greedy ? greedy_knapsack(sizes, values, room)
                                     : options_.solver == KnapsackSolver::ilp  ? exact_knapsack(sizes, values, room)
                                                                               : knapsack.best(room);
      if (share < kShares && kept == last) continue;
      last = kept;
      std::vector<bool> allowed(j_.graph.nodes().size());
      for (std::size_t k = 0; k < items.size(); k++) allowed[at(items[k])] = !kept[k];
      if (std::vector<Node*> saved = cut(o, allowed); try_one(saved)) return {std::move(saved), true};
    }
    if (std::vector<Node*> saved = only_inputs(); try_one(saved)) return {std::move(saved), true};
    return least;
  }
};

}  // namespace

Choice choose_saved(const JointInfo& joint, const MinCutOptions& options) { return Solver(joint, options).run(); }

std::vector<bool> greedy_knapsack(const std::vector<int64_t>& sizes, const std::vector<double>& values, int64_t capacity) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto worth = [&](std::size_t k) { return values[k] / static_cast<double>(std::max<int64_t>(1, sizes[k])); };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return worth(a) > worth(b); });
  std::vector<bool> chosen(sizes.size());
  for (const std::size_t k : order) {
    if (sizes[k] > capacity) continue;
    chosen[k] = true;
    capacity -= sizes[k];
  }
  return chosen;
}

// One after the other: the sets that no other one beats, being as small and worth as much. Layers
// that are alike have few of them.
std::vector<bool> exact_knapsack(const std::vector<int64_t>& sizes, const std::vector<double>& values, int64_t capacity) {
  struct Taken {
    std::size_t item;
    std::ptrdiff_t before;  // what was taken before it; -1: nothing
  };
  struct Set {
    int64_t size;
    double value;
    std::ptrdiff_t last;
  };
  std::vector<Taken> taken;
  std::vector<Set> best{{0, 0, -1}};  // by size, and so by value
  for (std::size_t k = 0; k < sizes.size(); k++) {
    std::vector<Set> with;
    for (const Set& s : best) {
      if (s.size + sizes[k] > capacity) break;
      with.push_back({s.size + sizes[k], s.value + values[k], static_cast<std::ptrdiff_t>(taken.size())});
      taken.push_back({k, s.last});
    }
    std::vector<Set> all, next;
    std::merge(best.begin(), best.end(), with.begin(), with.end(), std::back_inserter(all),
               [](const Set& a, const Set& b) { return a.size != b.size ? a.size < b.size : a.value > b.value; });
    for (const Set& s : all)
      if (next.empty() || s.value > next.back().value) next.push_back(s);
    best = std::move(next);
  }
  std::vector<bool> chosen(sizes.size());
  for (std::ptrdiff_t at = best.back().last; at >= 0; at = taken[static_cast<std::size_t>(at)].before)
    chosen[taken[static_cast<std::size_t>(at)].item] = true;
  return chosen;
}

Knapsack::Knapsack(const std::vector<int64_t>& sizes, const std::vector<double>& values, int64_t largest_capacity, int steps)
    : largest_(std::max<int64_t>(1, largest_capacity)), steps_(steps) {
  const auto width = static_cast<std::size_t>(steps_) + 1;
  std::vector<double> best(width, 0);
  for (std::size_t k = 0; k < sizes.size(); k++) {
    sizes_.push_back(sizes[k] > largest_ ? steps_ + 1 : static_cast<int>((sizes[k] * steps_ + largest_ - 1) / largest_));
    takes_.emplace_back(width);
    const auto size = static_cast<std::size_t>(sizes_.back());
    for (std::size_t c = width; c-- > size;) {
      if (best[c - size] + values[k] <= best[c]) continue;
      best[c] = best[c - size] + values[k];
      takes_[k][c] = true;
    }
  }
}

std::vector<bool> Knapsack::best(int64_t capacity) const {
  std::vector<bool> chosen(sizes_.size());
  auto left = static_cast<int>(std::min(capacity, largest_) * steps_ / largest_);
  for (std::size_t k = sizes_.size(); k-- > 0;) {
    if (!takes_[k][static_cast<std::size_t>(left)]) continue;
    chosen[k] = true;
    left -= sizes_[k];
  }
  return chosen;
}

}  // namespace ingot::aot
