#include "graph/vmap_region.hpp"

#include <optional>

#include "base/error.hpp"
#include "graph/node_table.hpp"
#include "graph/target.hpp"

namespace ingot {
namespace {

std::optional<VmapCall> vmap_call(const Node& n) {
  return n.kind == NodeKind::unsupported ? find_vmap_call(n.target) : std::nullopt;
}

void require_arguments(const Node& n, std::size_t count) {
  INGOT_REQUIRE(n.args.size() == count, n.name, ": ", n.target, " takes ", count, " arguments, found ", n.args.size());
}

}  // namespace

bool is_vmap_node(const Node& n) { return vmap_call(n).has_value(); }

std::map<int, VmapRegion> vmap_regions(const Graph& g) {
  std::map<int, VmapRegion> regions;
  std::vector<int> open;                        // the nodes that began those around, outermost first
  std::vector<int> inside(g.nodes().size(), -1);  // by node: which one it is in, -1: none
  for (const auto& n : g.nodes()) {
    const std::optional<VmapCall> call = vmap_call(*n);
    if (call == VmapCall::begin) {
      require_arguments(*n, 2);
      INGOT_REQUIRE(n->args[1].is_value() && n->args[1].value().is_string(), n->name, ": randomness should be a string");
      regions[n->id].randomness = n->args[1].value().string();
      open.push_back(n->id);
    } else if (call) {
      const bool is_end = call == VmapCall::end, is_argument = call == VmapCall::argument, is_result = call == VmapCall::result;
      if (call == VmapCall::prepare) continue;
      INGOT_REQUIRE(!open.empty(), n->name, ": ", n->target, " stands in no vmap");
      VmapRegion& region = regions[open.back()];
      if (is_argument) require_arguments(*n, 3), region.arguments.push_back(n.get());
      if (is_result) require_arguments(*n, 4), region.results.push_back(n.get());
      if (is_end) {
        region.end = n->id;
        open.pop_back();
      } else if (is_argument) {
        inside[at(n.get())] = open.back();
      } else if (open.size() > 1) {
        inside[at(n.get())] = open[open.size() - 2];  // a result is a value of the program around
      }
    } else if (!open.empty()) {
      inside[at(n.get())] = open.back();
    }
  }
  INGOT_REQUIRE(open.empty(), "a vmap of the graph does not end");

  const auto check_use = [&](const Node* used, int user_begins, int user_id, const std::string& user) {
    const int begins = inside[at(used)];
    if (begins < 0 || used->meta.is_number() || begins == user_begins) return;
    const VmapRegion& region = regions.at(begins);
    INGOT_REQUIRE(user_id > begins && user_id < region.end, user, " uses ", used->name,
                  ", which is one member's tensor in a vmap that has ended");
  };
  for (const auto& n : g.nodes())
    for_each_node(n->args, [&](const Node* used) { check_use(used, inside[at(n.get())], n->id, n->name); });
  const int end = static_cast<int>(g.nodes().size());
  for_each_node(g.outputs, [&](const Node* used) { check_use(used, -1, end, "the result"); });
  return regions;
}

}  // namespace ingot
