#include "graph/same.hpp"

#include "base/error.hpp"
#include "graph/annotation.hpp"
#include "graph/text.hpp"

namespace ingot {

namespace {

// Nodes are the same where they stand at the same place.
bool same_argument(const Argument& a, const Argument& b) {
  if (a.is_node() || b.is_node()) return a.is_node() && b.is_node() && a.node()->id == b.node()->id;
  if (a.is_value() || b.is_value()) return a.is_value() && b.is_value() && same(a.value(), b.value());
  if (a.elements().size() != b.elements().size()) return false;
  for (std::size_t i = 0; i < a.elements().size(); i++)
    if (!same_argument(a.elements()[i], b.elements()[i])) return false;
  return true;
}

std::string arguments_difference(const std::vector<Argument>& a, const std::vector<Argument>& b, std::string_view what) {
  if (a.size() != b.size()) return text(a.size(), " ", what, "s, and ", b.size());
  for (std::size_t i = 0; i < a.size(); i++)
    if (!same_argument(a[i], b[i])) return text(what, " ", i, " is ", print(a[i]), ", and ", print(b[i]));
  return {};
}

std::string_view kind_name(NodeKind k) {
  constexpr std::string_view kNames[] = {"placeholder", "attribute", "call", "item",
                                         "scalar",      "grad_mode", "vmap", "unsupported"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(NodeKind::unsupported) + 1);
  return kNames[static_cast<std::size_t>(k)];
}

std::string called(const Node& n) {
  switch (n.kind) {
    case NodeKind::call: return n.op ? target_of(*n.op) : "None";
    case NodeKind::item: return text("element ", n.index);
    case NodeKind::scalar: return std::string(target_of(n.function));
    case NodeKind::vmap: return std::string(target_of(n.vmap_call));
    case NodeKind::attribute:
    case NodeKind::unsupported: return n.target;
    default: return {};
  }
}

std::string node_difference(const Node& a, const Node& b) {
  if (a.name != b.name) return text("node ", a.id, " is ", a.name, ", and ", b.name);
  if (a.kind != b.kind) return text("node ", a.name, " has kind ", kind_name(a.kind), ", and ", kind_name(b.kind));
  const bool same_call = a.kind == NodeKind::call ? a.op == b.op : called(a) == called(b);
  if (!same_call) return text("node ", a.name, " is ", called(a), ", and ", called(b));
  if (told_by_fx(a.role) != told_by_fx(b.role))
    return text("input ", a.name, " is a ", word_of(a.role), ", and a ", word_of(b.role));
  const std::string d = arguments_difference(a.args, b.args, "argument");
  return d.empty() ? d : text("node ", a.name, ": ", d);
}

std::string attribute_difference(const Attributes::Entry& a, const Attributes::Entry& b) {
  if (a.first != b.first) return text("attribute ", a.first, ", and ", b.first);
  if (a.second.index() != b.second.index()) return text("attribute ", a.first, " is a tensor, and a subgraph");
  if (const auto* t = std::get_if<Tensor>(&a.second))
    return t->is_same(std::get<Tensor>(b.second)) ? "" : text("attribute ", a.first, " is another tensor");
  const auto &x = std::get<1>(a.second), &y = std::get<1>(b.second);
  if (x == y) return {};
  if (!x || !y) return text("subgraph ", a.first, " is missing on one side");
  const std::string d = difference(*x, *y);
  return d.empty() ? d : text("subgraph ", a.first, ": ", d);
}

}  // namespace

bool is_list(const Value& v) { return v.is_ints() || v.is_tensors() || v.is_floats() || v.is_bools() || v.is_values(); }

bool same(const Value& a, const Value& b) {
  if (!is_list(a) || !is_list(b)) return a.same(b);
  const Values x = list_elements(a), y = list_elements(b);
  if (x.size() != y.size()) return false;
  for (std::size_t i = 0; i < x.size(); i++)
    if (!same(x[i], y[i])) return false;
  return true;
}

std::string difference(const Graph& a, const Graph& b) {
  for (std::size_t i = 0; i < std::min(a.nodes().size(), b.nodes().size()); i++)
    if (std::string d = node_difference(*a.nodes()[i], *b.nodes()[i]); !d.empty()) return d;
  if (a.nodes().size() != b.nodes().size()) return text(a.nodes().size(), " nodes, and ", b.nodes().size());
  if (a.returns != b.returns) return "the results are returned in another way";
  if (std::string d = arguments_difference(a.outputs, b.outputs, "output"); !d.empty()) return d;
  if (a.attributes.size() != b.attributes.size()) return text(a.attributes.size(), " attributes, and ", b.attributes.size());
  for (auto x = a.attributes.begin(), y = b.attributes.begin(); x != a.attributes.end(); ++x, ++y)
    if (std::string d = attribute_difference(*x, *y); !d.empty()) return d;
  return {};
}

}  // namespace ingot
