// Runs a graph on values, one node after the other.
#pragma once
#include <functional>

#include "graph/graph.hpp"
#include "graph/source.hpp"

namespace ingot {

// What to do about operators Ingot does not have: the end of the message that names them.
inline constexpr std::string_view kListMissing = "`ingot ops --missing FILE` lists what a program needs and Ingot does not have";

class Interpreter {
 public:
  // Takes what a node made, and returns what stands for it from then on.
  using Made = std::function<Value(const Node&, const Value&)>;

  // The graph must outlive the interpreter and stay as it is. `made` hears of calls and their
  // elements.
  explicit Interpreter(const Graph& graph, Made made = {});

  // One value for each of graph.inputs(); the result has one for each of graph.outputs. A value is
  // let go after its last use. Calls go through `call`, so gradients are recorded, and writes to
  // inputs happen, as in any eager program. An op's error gets a line that names the node and where
  // the program has it; a graph with an unsupported node, in it or in a subgraph, is a user error
  // naming all of them before anything runs.
  Values run(Args inputs) const;

 private:
  const Graph& graph_;
  Made made_;
  std::vector<std::vector<int>> dead_after_;  // by node id: the values nobody reads after it
  std::string unsupported_;                   // what cannot run, a line each
};

}  // namespace ingot
