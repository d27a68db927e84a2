// Minimum cuts of a network with whole-number capacities (Dinic's algorithm).
#pragma once
#include <cstdint>
#include <vector>

namespace ingot::aot {

class FlowNetwork {
 public:
  static constexpr int64_t kInfinite = int64_t{1} << 60;

  explicit FlowNetwork(std::size_t nodes) : edges_of_(nodes) {}
  // Capacities of all edges that are not infinite sum to less than kInfinite.
  void add_edge(std::size_t from, std::size_t to, int64_t capacity);
  // The nodes on the source's side of a minimum cut: the one nearest to the source. Uses the
  // network up.
  std::vector<bool> min_cut(std::size_t source, std::size_t sink);
  // What the cut costs, after min_cut; kInfinite or more where no cut of finite capacity exists.
  int64_t flow() const { return flow_; }

 private:
  struct Edge {
    std::size_t to;
    int64_t left;  // capacity that is not used; the edge after or before it in pairs is its reverse
  };
  std::vector<Edge> edges_;
  std::vector<std::vector<std::size_t>> edges_of_;
  std::vector<int> level_;
  std::vector<std::size_t> next_;
  int64_t flow_ = 0;

  bool find_levels(std::size_t source, std::size_t sink);
  int64_t push(std::size_t source, std::size_t sink);
};

}  // namespace ingot::aot
