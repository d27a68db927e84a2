#include "pass/merge_equal.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "graph/copy.hpp"
#include "graph/dead_code.hpp"
#include "graph/node_table.hpp"
#include "graph/same.hpp"
#include "graph/save_policy.hpp"
#include "graph/storage_of.hpp"
#include "op/data_dependent.hpp"
#include "op/makes_stand_in.hpp"

namespace ingot {
namespace {

// Each time it is called it makes the same. A call whose sizes or number the data decides makes
// symbols of its own beside it, which others may speak of.
bool is_pure(const Graph& g, const Node& n) {
  switch (n.kind) {
    case NodeKind::item:
    case NodeKind::scalar: return true;
    case NodeKind::call:
      return n.op->form() != Form::random && n.op->form() != Form::higher_order && !n.op->def->result.uninitialised &&
             !depends_on_data(*n.op) && !has_side_effect(g, n);
    default: return false;
  }
}

std::size_t mixed(std::size_t a, std::size_t b) { return (a ^ b) * 0x9E3779B97F4A7C15ull + (a << 7); }

// Constants count by their text, which equal ones have in common.
std::size_t hash_of(const Argument& a) {
  if (a.is_node()) return std::hash<const Node*>()(a.node());
  if (a.is_value()) return a.value().is_tensor() ? 1 : std::hash<std::string>()(to_text(a.value()));
  std::size_t h = a.elements().size();
  for (const Argument& e : a.elements()) h = mixed(h, hash_of(e));
  return h;
}
std::size_t hash_of(const Node& n) {
  std::size_t h = mixed(std::hash<const Op*>()(n.op), static_cast<std::size_t>(n.index));
  for (const Argument& a : n.args) h = mixed(h, hash_of(a));
  return h;
}

bool same_arguments(const std::vector<Argument>& a, const std::vector<Argument>& b);
bool same_argument(const Argument& a, const Argument& b) {
  if (a.is_node() || b.is_node()) return a.is_node() && b.is_node() && a.node() == b.node();
  if (a.is_value() || b.is_value()) return a.is_value() && b.is_value() && same(a.value(), b.value());
  return same_arguments(a.elements(), b.elements());
}
bool same_arguments(const std::vector<Argument>& a, const std::vector<Argument>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t k = 0; k < a.size(); k++)
    if (!same_argument(a[k], b[k])) return false;
  return true;
}
bool same_policy(const Node& a, const Node& b) {
  const SavePolicy none, &x = a.saving ? *a.saving : none, &y = b.saving ? *b.saving : none;
  return x.keep == y.keep && x.region == y.region;
}
bool are_equal(const Node& a, const Node& b) {
  return a.kind == b.kind && a.op == b.op && a.function == b.function && a.index == b.index && same_policy(a, b) &&
         same_arguments(a.args, b.args);
}

// What a result lies on, and on behind that what it stands in for: the caller is to be told of a
// write to the one in the other.
std::vector<const Node*> storages_behind(const Node* n) {
  std::vector<const Node*> all{storage_of(n)};
  while (all.back()->kind == NodeKind::call && makes_stand_in(*all.back()->op) && all.back()->args[0].is_node())
    all.push_back(storage_of(all.back()->args[0].node()));
  return all;
}

// By id: results that the caller gets, and what they are views of, whether the schema says so or
// not (_unsafe_view).
std::vector<bool> seen_by_caller(const Graph& g, std::size_t results) {
  std::vector<bool> seen(g.nodes().size());
  std::unordered_set<const Storage*> storages;
  for (std::size_t k = 0; k < results; k++)
    for_each_node(g.outputs[k], [&](const Node* n) {
      std::vector<const Node*> looked_at = storages_behind(n);
      looked_at.push_back(n);
      for (const Node* x : looked_at) {
        seen[at(x)] = true;
        if (x->kind == NodeKind::item) seen[at(x->args[0].node())] = true;
        if (x->meta.is_tensor()) storages.insert(x->meta.tensor()->storage.get());
      }
    });
  for (const auto& n : g.nodes())
    if (n->meta.is_tensor() && storages.contains(n->meta.tensor()->storage.get())) seen[at(n.get())] = true;
  return seen;
}

// Whether the call would find other elements after the effect, which may write any of its
// arguments.
bool reads_written(const Node& n, const Node& effect) {
  std::unordered_set<const Node*> written;
  for_each_node(effect.args, [&](const Node* a) { written.insert(storage_of(a)); });
  bool reads = false;
  for_each_node(n.args, [&](const Node* a) { reads = reads || written.contains(storage_of(a)); });
  return reads;
}

}  // namespace

Graph merge_equal_calls(const Graph& g, std::size_t results) {
  const std::vector<bool> seen = seen_by_caller(g, results);
  Graph to;
  GraphCopier copier(g, to);
  struct Known {
    Node* node;  // of the copy
    bool seen;
  };
  std::unordered_multimap<std::size_t, Known> known;
  for (const auto& n : g.nodes()) {
    if (!is_pure(g, *n)) {
      const Node* effect = copier.copy(*n);
      if (n->kind == NodeKind::call && n->op->mutates())
        std::erase_if(known, [&](const auto& k) { return reads_written(*k.second.node, *effect); });
      if (n->kind == NodeKind::vmap && n->vmap_call == VmapCall::end) known.clear();  // it is of single members, or may be
      continue;
    }
    Node asked = *n;  // over the copies of its operands
    for (Argument& a : asked.args) a = copier(a);
    const std::size_t h = hash_of(asked);
    const bool is_seen = seen[at(n.get())];
    const auto [first, last] = known.equal_range(h);
    const auto found =
        std::find_if(first, last, [&](const auto& k) { return are_equal(*k.second.node, asked) && !(is_seen && k.second.seen); });
    if (found == last) {
      known.emplace(h, Known{copier.copy(*n), is_seen});
    } else {
      copier.replace(*n, found->second.node);
      found->second.seen = found->second.seen || is_seen;
    }
  }
  copier.copy_outputs();
  return to;
}

Pass merge_equal_pass(std::size_t results) {
  return {"merge_equal", [results](const Graph& g) { return merge_equal_calls(g, results); }};
}

}  // namespace ingot
