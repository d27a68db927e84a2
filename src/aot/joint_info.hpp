// What partitioners ask about the nodes of a joint graph: on which side of the cut they must or may
// run, what they cost to keep, and which of them are computed in one loop. Everything here is by
// the id of a node.
#pragma once
#include "aot/partition.hpp"
#include "graph/node_table.hpp"
#include "graph/save_policy.hpp"
#include "graph/storage_of.hpp"

namespace ingot::aot {

bool is_tangent(const Node& n);
bool is_view(const Node& n);
bool is_random(const Node& n);
// It would give other numbers a second time: a random call, or one of a subgraph that has one.
bool draws(const Graph& g, const Node& n);
// … unless it is given the state of the stream that it had (R127). A call that names a generator
// takes no part in the one stream.
bool can_draw_again(const Node& n);
// R121: each operand is written straight into its part of the result, so that whatever made it can
// be part of the loop.
bool joins(const Node& n);
// R124, what allowlist mode computes again: formulas, folds, views, factories, arithmetic on sizes,
// elements of lists, and kernels whose loop form reads a few elements for each one they make, as
// gather does, or whose body is a program of such ops.
bool is_recomputable(const Node& n);
// R124, what denylist mode does not compute again: products and kernels without a loop form.
bool is_compute_intensive(const Node& n);

// A write to a primal that the backward makes, whatever it is made of (R104).
bool is_effect_of_backward(const Joint& joint, const Node& n);

// R120: by hints where sizes are open, 4096 elements where only data decides them; numbers count 1,
// symbolic floats 4.
int64_t bytes_of(const Value& v);

struct JointInfo {
  explicit JointInfo(const Joint& joint);

  const Graph& graph;
  // R115. What is neither is the backward's if it is anybody's.
  std::vector<bool> forward;  // primals, what the forward's outputs need, what has an effect that is not the backward's, and
      // what reads a written primal while it still has its bytes
  std::vector<bool> backward;  // a tangent, or made of one, or an effect of the backward's
  std::vector<bool> forward_result, backward_result;  // an output of the joint graph
  std::vector<bool> written;  // a primal that the call writes, or a view of one: its bytes are others when the backward runs
  std::vector<bool> recomputable, fusible;
  std::vector<std::vector<Node*>> users;  // each once
  std::vector<int> distance;  // R116: from the backward, along users; kFar: no way
  std::vector<int> order;  // among the nodes of the forward
  std::vector<Keep> keep;  // what the author said, after R128

  static constexpr int kFar = 1'000'000'000;

  bool any_said() const;  // whether the author marked anything
  bool reads_written(const Node& n) const;  // what it is made of is not there any more when the backward runs
  bool fuses(const Node* producer, const Node* consumer) const {  // R121
    return joins(*consumer) || (fusible[at(producer)] && fusible[at(consumer)]);
  }
  // Whether the author wants it computed again, and it can be.
  bool must_recompute(const Node& n) const;

 private:
  void find_sides(const Joint& joint);
  void find_distances();
  void find_written(const std::vector<int>& primals);
  void find_policies();
};

}  // namespace ingot::aot
