// A joint graph cut in two: what runs in the forward, and what runs in the backward with what the
// forward kept for it (section 9).
#pragma once
#include "graph/graph.hpp"

namespace ingot::aot {

// What is to be cut: the first `forward_outputs` outputs are the forward's.
struct Joint {
  const Graph& graph;
  int forward_outputs = 0;
  std::vector<int> written = {};              // primals whose bytes are others when the backward runs: the call writes them
  std::vector<int> written_by_backward = {};  // primals that the graph writes in the backward's part (R104)
};

// What is in memory between forward and backward beside the inputs, by the sizes of the example.
struct SavePlan {
  struct Value {
    std::string name;   // of the node of the joint graph
    int64_t bytes =
        0;  // that it alone keeps alive: none of an input or of a view of one, and a storage that several values look at
                        // counts for the first of them
  };
  std::vector<Value> values;  // every saved tensor
  int64_t bytes = 0;          // their sum
  bool fits = true;           // in the budget that was asked for; otherwise this is the least that could be found
};

struct Parts {
  Graph forward;   // primals → the first outputs of the joint graph, then saved tensors, then saved integers
  Graph backward;  // saved integers, saved tensors, tangents → the other outputs
  int saved_tensors = 0, saved_integers = 0;
  SavePlan plan = {};
};

// R113: everything that the forward's outputs need is the forward; what the rest reads of it is
// saved. With min-cut where the author marked what to compute again (graph/save_policy.hpp).
Parts partition_default(const Joint& joint);

// The two graphs for what is saved (R108 to R112): tensors and integers that are nodes of the joint
// graph.
Parts split(const Joint& joint, const std::vector<Node*>& saved, const std::vector<Node*>& integers);

// Says what the parts hand over (Role): what the forward returns after its own `results` and what
// the backward takes beside tangents is saved, what the backward returns are gradients. A node that
// is a result of the forward and saved as well stays a result. Passes that copy nodes keep it.
void say_roles(Parts& parts, std::size_t results);

// What keeping these nodes, in this order, would keep alive.
SavePlan plan_of(const std::vector<Node*>& saved);

}  // namespace ingot::aot
