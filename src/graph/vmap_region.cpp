#include "graph/vmap_region.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "graph/node_table.hpp"

namespace ingot {
namespace {

class RegionFinder {
 public:
  explicit RegionFinder(const Graph& g) : graph_(g) {}

  // Stops at the first fault.
  VmapFault run() {
    const auto& nodes = graph_.nodes();
    if (std::ranges::none_of(nodes, [](const auto& n) { return n->kind == NodeKind::vmap; })) return {};
    inside_.assign(nodes.size(), kNone);
    for (const auto& n : nodes)
      if (std::string f = place(*n); !f.empty()) return {n.get(), std::move(f)};
    if (!open_.empty()) return {nodes[static_cast<std::size_t>(open_.back())].get(), "the vmap that it begins does not end"};
    for (const auto& n : nodes)
      if (std::string f = uses_fault(n->args, inside_[at(n.get())], n->id); !f.empty()) return {n.get(), std::move(f)};
    return {nullptr, uses_fault(graph_.outputs, kNone, static_cast<int>(nodes.size()))};
  }

  std::map<int, VmapRegion> take() { return std::move(regions_); }

 private:
  static constexpr int kNone = -1;
  const Graph& graph_;
  std::map<int, VmapRegion> regions_;
  std::vector<int> open_;    // the nodes that began those around, outermost first
  std::vector<int> inside_;  // by node: which one it is in

  // Finds where the node stands; what is wrong with that.
  std::string place(const Node& n) {
    if (n.kind != NodeKind::vmap) {
      if (!open_.empty()) inside_[at(&n)] = open_.back();
      return {};
    }
    if (n.vmap_call == VmapCall::prepare) return {};
    if (n.vmap_call == VmapCall::begin) {
      if (!n.args[1].is_value() || !n.args[1].value().is_string()) return "randomness should be a string";
      regions_[n.id].randomness = n.args[1].value().string();
      open_.push_back(n.id);
      return {};
    }
    if (open_.empty()) return text(target_of(n.vmap_call), " stands in no vmap");
    const int begin = open_.back();
    VmapRegion& region = regions_[begin];
    if (n.vmap_call == VmapCall::end) {
      region.end = n.id;
      open_.pop_back();
    } else if (n.vmap_call == VmapCall::argument) {
      region.arguments.push_back(&n);
      inside_[at(&n)] = begin;
      return argument_fault(n, begin);
    } else {
      region.results.push_back(&n);
      if (open_.size() > 1) inside_[at(&n)] = open_[open_.size() - 2];  // a value of the program around
    }
    return {};
  }

  // What is mapped over is known before the function runs.
  std::string argument_fault(const Node& n, int begin) const {
    std::string fault;
    for_each_node(n.args, [&](const Node* used) {
      if (fault.empty() && inside_[at(used)] == begin)
        fault = text("maps over ", used->name, ", which the function itself makes");
    });
    return fault;
  }

  std::string uses_fault(const std::vector<Argument>& args, int user_begins, int user_id) const {
    std::string fault;
    for_each_node(args, [&](const Node* used) {
      const int begins = inside_[at(used)];
      if (!fault.empty() || begins == kNone || used->meta.is_number() || begins == user_begins) return;
      if (user_id <= begins || user_id >= regions_.at(begins).end)
        fault = text("uses ", used->name, ", which is one member's tensor in a vmap that has ended");
    });
    return fault;
  }
};

}  // namespace

std::map<int, VmapRegion> vmap_regions(const Graph& g) {
  RegionFinder finder(g);
  const VmapFault fault = finder.run();
  INGOT_REQUIRE(fault.text.empty(), fault.node ? fault.node->name : "the results", ": ", fault.text);
  return finder.take();
}

VmapFault vmap_fault(const Graph& g) { return RegionFinder(g).run(); }

}  // namespace ingot
