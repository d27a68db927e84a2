#include "aot/reorder.hpp"

#include <algorithm>

#include "aot/joint_info.hpp"
#include "aot/passes.hpp"
#include "graph/copy.hpp"
#include "graph/dead_code.hpp"

namespace ingot::aot {
namespace {

class Reordered {
 public:
  explicit Reordered(const Graph& g) : from_(g), copier_(g, to_), placed_(g.nodes().size()) {}

  Graph run() {
    for (const Node* n : from_.inputs()) place(*n);
    const std::size_t count = from_.nodes().size();
    std::size_t first = count, before = 0;
    for (const auto& n : from_.nodes())
      for_each_node(n->args, [&](const Node* a) {
        if (is_tangent(*a)) first = std::min(first, at(n.get()));
      });
    for (std::size_t i = 0; i < count; i++) {
      const Node& n = *from_.nodes()[i];
      if (has_side_effect(from_, n))
        for (; before <= i; before++) place(*from_.nodes()[before]);
      else if (i >= first) place_with_operands(n);
    }
    for_each_node(from_.outputs, [&](const Node* n) { place_with_operands(*n); });
    copier_.copy_outputs();
    return std::move(to_);
  }

 private:
  const Graph& from_;
  Graph to_;
  GraphCopier copier_;
  std::vector<bool> placed_;

  void place(const Node& n) {
    if (placed_[at(&n)]) return;
    placed_[at(&n)] = true;
    copier_.copy(n);
  }
  // In the order of the graph, without recursion: chains are as long as programs.
  void place_with_operands(const Node& n) {
    std::vector<const Node*> needed, open{&n};
    while (!open.empty()) {
      const Node* x = open.back();
      open.pop_back();
      if (placed_[at(x)]) continue;
      placed_[at(x)] = true;
      needed.push_back(x);
      for_each_node(x->args, [&](const Node* a) { open.push_back(a); });
    }
    std::sort(needed.begin(), needed.end(), [](const Node* a, const Node* b) { return a->id < b->id; });
    for (const Node* x : needed) copier_.copy(*x);
  }
};

}  // namespace

Graph computed_when_needed(const Graph& backward) { return Reordered(backward).run(); }

Pass reorder_pass() { return {kReorder.name, computed_when_needed, kReorder.required}; }

}  // namespace ingot::aot
