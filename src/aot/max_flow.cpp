#include "aot/max_flow.hpp"

#include <algorithm>

namespace ingot::aot {

void FlowNetwork::add_edge(std::size_t from, std::size_t to, int64_t capacity) {
  edges_of_[from].push_back(edges_.size());
  edges_.push_back({to, capacity});
  edges_of_[to].push_back(edges_.size());
  edges_.push_back({from, 0});
}

bool FlowNetwork::find_levels(std::size_t source, std::size_t sink) {
  level_.assign(edges_of_.size(), -1);
  level_[source] = 0;
  std::vector<std::size_t> queue{source};
  for (std::size_t k = 0; k < queue.size(); k++)
    for (const std::size_t e : edges_of_[queue[k]])
      if (edges_[e].left > 0 && level_[edges_[e].to] < 0) {
        level_[edges_[e].to] = level_[queue[k]] + 1;
        queue.push_back(edges_[e].to);
      }
  return level_[sink] >= 0;
}

// One way from source to sink along rising levels, without recursion: networks are as deep as
// programs are long.
int64_t FlowNetwork::push(std::size_t source, std::size_t sink) {
  std::vector<std::size_t> way;
  std::size_t at = source;
  while (at != sink) {
    bool advanced = false;
    for (; next_[at] < edges_of_[at].size(); next_[at]++) {
      const std::size_t e = edges_of_[at][next_[at]];
      if (edges_[e].left > 0 && level_[edges_[e].to] == level_[at] + 1) {
        way.push_back(e);
        at = edges_[e].to;
        advanced = true;
        break;
      }
    }
    if (advanced) continue;
    if (at == source) return 0;
    level_[at] = -1;  // a dead end
    at = edges_[way.back() ^ 1].to;
    way.pop_back();
    next_[at]++;
  }
  int64_t amount = kInfinite;
  for (const std::size_t e : way) amount = std::min(amount, edges_[e].left);
  for (const std::size_t e : way) {
    edges_[e].left -= amount;
    edges_[e ^ 1].left += amount;
  }
  return amount;
}

std::vector<bool> FlowNetwork::min_cut(std::size_t source, std::size_t sink) {
  while (flow_ < kInfinite && find_levels(source, sink)) {
    next_.assign(edges_of_.size(), 0);
    for (int64_t amount; flow_ < kInfinite && (amount = push(source, sink)) > 0;) flow_ += amount;
  }
  find_levels(source, sink);
  std::vector<bool> side(edges_of_.size());
  for (std::size_t k = 0; k < side.size(); k++) side[k] = level_[k] >= 0;
  return side;
}

}  // namespace ingot::aot
