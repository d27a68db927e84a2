#include "aot/min_cut.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "aot/budget.hpp"
#include "aot/max_flow.hpp"
#include "aot/random_states.hpp"
#include "aot/recompute_rules.hpp"
#include "aot/reorder.hpp"
#include "base/error.hpp"
#include "pass/dead_code.hpp"
#include "pass/merge_equal.hpp"

namespace ingot::aot {
namespace {

constexpr int kDistanceLimit = 100;
constexpr int64_t kLastResort = int64_t{1} << 50;  // of what should not be kept, and may be all there is

// R120.
int64_t weight_of(const JointInfo& j, const Node& n, const MinCutOptions& options, bool is_in_memory) {
  if (n.meta.is_number()) return bytes_of(n.meta);
  if (!n.meta.is_tensor() || (options.recompute_views && is_view(n))) return FlowNetwork::kInfinite;
  if (j.written[at(&n)]) return kLastResort;
  const double factor = std::pow(1.1, std::max(std::min(j.distance[at(&n)], kDistanceLimit), 1));
  const auto bytes = static_cast<int64_t>(static_cast<double>(bytes_of(n.meta)) * factor);
  return is_in_memory ? bytes : 2 * bytes;
}

MinCutOptions without_most_rules(MinCutOptions o) {
  o.ban_used_far_apart = o.ban_long_fusible_chains = o.ban_materialized = o.ban_not_in_allowlist = false;
  return o;
}

}  // namespace

CutProblem cut_problem(const JointInfo& j, const MinCutOptions& options, const std::vector<bool>& allowed) {
  CutProblem p;
  const std::size_t size = j.graph.nodes().size();
  p.weight.resize(size);
  p.recompute.resize(size);
  p.returned.resize(size);
  p.backward = j.backward;
  p.banned = banned_from_recompute(j, options, allowed);
  const std::vector<bool> memory = in_memory(j);
  for (const auto& n : j.graph.nodes()) {
    const std::size_t i = at(n.get());
    p.weight[i] = weight_of(j, *n, options, memory[i]);
    p.recompute[i] = j.must_recompute(*n);
    if (!j.backward_result[i] || j.backward[i]) continue;
    // R117: what the backward returns it makes itself, unless it cannot.
    (p.banned[i] || j.reads_written(*n) ? p.returned : p.recompute)[i] = true;
  }
  return p;
}

// R117: a node is an edge from its entry (2 id) to its exit (2 id + 1), which costs what keeping it
// costs.
std::vector<Node*> min_cut(const Graph& joint, const CutProblem& problem) {
  const std::size_t n = joint.nodes().size(), source = 2 * n, sink = 2 * n + 1;
  FlowNetwork network(2 * n + 2);
  constexpr int64_t kInfinite = FlowNetwork::kInfinite;
  for (const auto& node : joint.nodes()) {
    const std::size_t i = at(node.get());
    if (problem.backward[i] || problem.recompute[i]) network.add_edge(2 * i, sink, kInfinite);
    if (problem.backward[i]) continue;
    if (problem.banned[i]) network.add_edge(source, 2 * i, kInfinite);
    network.add_edge(2 * i, 2 * i + 1, problem.weight[i]);
    if (problem.returned[i]) network.add_edge(2 * i + 1, sink, kInfinite);
  }
  for (const auto& node : joint.nodes())
    for_each_node(node->args, [&](const Node* a) {
      if (!problem.backward[at(a)]) network.add_edge(2 * at(a) + 1, 2 * at(node.get()), kInfinite);
    });
  const std::vector<bool> side = network.min_cut(source, sink);
  INGOT_ENSURE(network.flow() < kInfinite, "the backward needs a value that can neither be kept nor computed again");
  std::vector<Node*> saved;
  for (const auto& node : joint.nodes())
    if (!problem.backward[at(node.get())] && side[2 * at(node.get())] && !side[2 * at(node.get()) + 1])
      saved.push_back(node.get());
  return saved;
}

std::string to_text(const MinCutOptions& o) {
  return text("cse=", o.cse, " max_distance=", o.max_distance, " far_apart=", o.ban_used_far_apart,
              " long_chains=", o.ban_long_fusible_chains, " materialized=", o.ban_materialized,
              " allowlist=", o.ban_not_in_allowlist, " reductions=", o.ban_reductions, " views=", o.recompute_views,
              " aggressive=", o.aggressive_recomputation, " budget=", o.memory_budget,
              " estimator=", static_cast<int>(o.estimator), " solver=", static_cast<int>(o.solver),
              " bytes=", o.activation_bytes.value_or(-1));
}

Parts partition_min_cut(const Joint& whole, const MinCutOptions& given) {
  std::vector<Pass> passes{dead_code_pass()};
  if (given.cse) passes.push_back(merge_equal_pass(static_cast<std::size_t>(whole.forward_outputs)));
  const Graph prepared = run_passes(whole.graph, passes);
  const Joint joint{prepared, whole.forward_outputs, whole.written, whole.written_by_backward};
  const JointInfo info(joint);
  const bool has_backward = std::any_of(joint.graph.nodes().begin(), joint.graph.nodes().end(), [&](const auto& n) {
    return info.backward[at(n.get())] || info.backward_result[at(n.get())];
  });
  if (!has_backward) return split(joint, {}, {});
  const Choice choice = choose_saved(info, given.aggressive_recomputation ? without_most_rules(given) : given);
  std::vector<Node*> tensors, integers;  // R126
  for (Node* n : choice.saved) (n->meta.is_number() ? integers : tensors).push_back(n);
  Parts parts = split(joint, tensors, integers);
  parts.backward = run_passes(parts.backward, std::array{reorder_pass()});
  share_random_states(parts);
  parts.plan.fits = choice.fits;
  return parts;
}

Partitioner min_cut_partitioner(const MinCutOptions& options) { return MinCutPartitioner{options}; }

}  // namespace ingot::aot
