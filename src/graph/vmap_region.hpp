// vmap inside an exported program: the exporter leaves the function in place, between the nodes
// that begin and end it.
//
//   _vmap_increment_nesting(size, 'error')       a function of single members begins
//   a = _add_batch_dim(x, 0, 1)                  its argument: x is mapped over along dim 0
//   b = torch.ops.aten.mul.Tensor(a, y)          y is of the program around it, and the same for all members
//   r = _remove_batch_dim(b, 1, size, 0)         a result, stacked along dim 0
//   _vmap_decrement_nesting()                    it ends; inside, others may begin and end
//
// These are nodes of a kind of their own (NodeKind::vmap, `VmapCall` tells which); the interpreter
// runs what they stand for.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "graph/graph.hpp"

namespace ingot {

struct VmapRegion {
  int end = 0;  // the id of the node that ends it
  std::vector<const Node*> arguments, results;
  std::string randomness;
};

// Those of a graph, inner ones too, by the id of the node that begins each. Each node has the
// arguments that its call takes (schema_of). User error, naming the node, where one does not end
// or begin, or a tensor of its members is used outside.
std::map<int, VmapRegion> vmap_regions(const Graph& g);

// Which node vmap_regions would refuse, and why; no text: none.
struct VmapFault {
  const Node* node = nullptr;  // null: the results of the graph
  std::string text;
};
VmapFault vmap_fault(const Graph& g);

}  // namespace ingot
