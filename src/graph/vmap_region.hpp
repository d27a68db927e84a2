// vmap inside an exported program: the exporter leaves the function in place, between the nodes
// that begin and end it.
//
//   _vmap_increment_nesting(size, 'error')       a function of single members begins
//   a = _add_batch_dim(x, 0, 1)                  its argument: x is mapped over along dim 0
//   b = torch.ops.aten.mul.Tensor(a, y)          y is of the program around it, and the same for all members
//   r = _remove_batch_dim(b, 1, size, 0)         a result, stacked along dim 0
//   _vmap_decrement_nesting()                    it ends; inside, others may begin and end
//
// These are nodes of targets that are no operators (NodeKind::unsupported; `VmapCall` of target.hpp
// tells which, whatever PyTorch calls them in full); the interpreter runs what they stand for.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "graph/graph.hpp"

namespace ingot {

// Whether the node is one of them, or one that only prepares PyTorch for them.
bool is_vmap_node(const Node& n);

struct VmapRegion {
  int end = 0;  // the id of the node that ends it
  std::vector<const Node*> arguments, results;
  std::string randomness;
};

// Those of a graph, inner ones too, by the id of the node that begins each. User error, naming the
// node, where one does not end or begin, or a tensor of its members is used outside.
std::map<int, VmapRegion> vmap_regions(const Graph& g);

}  // namespace ingot
