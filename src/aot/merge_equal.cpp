#include "aot/merge_equal.hpp"

#include <unordered_map>

#include "graph/copy.hpp"
#include "graph/dead_code.hpp"
#include "graph/same.hpp"
#include "graph/save_policy.hpp"

namespace ingot::aot {
namespace {

bool is_pure(const Graph& g, const Node& n) {
  switch (n.kind) {
    case NodeKind::item:
    case NodeKind::scalar: return true;
    case NodeKind::call:
      return n.op->form() != Form::random && n.op->form() != Form::higher_order && !n.op->def->uninitialised && !has_side_effect(g, n);
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
  return a.kind == b.kind && a.op == b.op && a.function == b.function && a.index == b.index && same_policy(a, b) && same_arguments(a.args, b.args);
}

}  // namespace

Graph merge_equal_calls(const Graph& g) {
  Graph to;
  GraphCopier copier(g, to);
  std::unordered_multimap<std::size_t, Node*> known;  // nodes of the copy
  for (const auto& n : g.nodes()) {
    if (!is_pure(g, *n)) {
      copier.copy(*n);
      continue;
    }
    Node asked = *n;  // over the copies of its operands
    for (Argument& a : asked.args) a = copier(a);
    const std::size_t h = hash_of(asked);
    const auto [first, last] = known.equal_range(h);
    Node* found = nullptr;
    for (auto it = first; it != last && !found; ++it)
      if (are_equal(*it->second, asked)) found = it->second;
    if (found) copier.replace(*n, found);
    else known.emplace(h, copier.copy(*n));
  }
  copier.copy_outputs();
  return to;
}

}  // namespace ingot::aot
