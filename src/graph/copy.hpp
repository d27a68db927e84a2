// Copies nodes from one graph to another: the start of most passes.
#pragma once
#include <vector>

#include "graph/graph.hpp"

namespace ingot {

// Reads one graph and appends to another. A pass copies the nodes it keeps and says what stands for
// those it does not.
class GraphCopier {
 public:
  // Both must outlive the copier. The copy gets the attributes of the original, which share its
  // tensors and subgraphs, unless the caller sees to them.
  enum class Attributes : uint8_t { copy, leave };
  GraphCopier(const Graph& from, Graph& to, Attributes attributes = Attributes::copy);

  // The same node over the copies of its operands, with its name (or it with a suffix, where the
  // copy has it already), and with what is known about it. Stands for the original from now on.
  Node* copy(const Node& n);
  // From now on `now` stands for `n`.
  void replace(const Node& n, Argument now);
  // An argument of the original over the copies of its nodes, which must have been copied or
  // replaced.
  Argument operator()(const Argument& a) const;
  // The results, and how they are returned.
  void copy_outputs();

 private:
  const Graph& from_;
  Graph& to_;
  std::vector<Argument> now_;  // by id in the original
  std::vector<bool> has_copy_;
};

Graph clone(const Graph& g);

}  // namespace ingot
