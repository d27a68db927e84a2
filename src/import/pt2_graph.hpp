// The graph of an exported program.
#pragma once
#include <map>

#include "graph/graph.hpp"
#include "import/json.hpp"

namespace ingot {

// A graph with the values of its inputs, in order: a placeholder, or the constant an exporter wrote in its place.
struct ReadGraph {
  Graph graph;
  std::vector<Argument> inputs;
  std::vector<std::string> input_names, output_names;  // as the file has them; empty for constants
};

// User error naming the node and value for a use of an undefined name, a second definition, an argument the operator
// does not have, or one it lacks.
ReadGraph read_graph(const Json& graph);

}  // namespace ingot
