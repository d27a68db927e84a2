// The graph of an exported program.
#pragma once
#include "graph/graph.hpp"
#include "io/json.hpp"
#include "format/pt2/spelling.hpp"

namespace ingot {

// A graph with the values of its inputs, in order: a placeholder, or the constant an exporter wrote
// in its place.
struct ReadGraph {
  Graph graph;
  std::vector<Argument> inputs;
  std::vector<std::string> input_names, output_names;  // as the file has them; empty for constants
  SpelledGraph spelled;
};

// Every value gets its meta from the graph's value maps: a fake tensor, over `symbols` where sizes
// are open, or a number. It is what the exporter's shape rules said, and they are wrong for a few
// operators (the states of lstm, inverse indices of unique_consecutive), so whoever relies on sizes
// infers them again. User error naming the node and value for a use of an undefined name, a second
// definition, an argument the operator does not have, lacks, or cannot take.
ReadGraph read_graph(const Json& graph, Pt2Symbols& symbols);

// The calls that a compiled model of AOTInductor leaves to its host (…wrapper.json), by name: each
// a graph of one node, whose inputs are the values the node refers to, in order of appearance.
std::vector<std::pair<std::string, Graph>> read_proxy_calls(const Json& document);

}  // namespace ingot
