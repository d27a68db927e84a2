// Graphs and arguments of exported programs as JSON.
#pragma once
#include <map>
#include <unordered_map>
#include <vector>

#include "graph/graph.hpp"
#include "io/json_writer.hpp"
#include "format/pt2/spelling.hpp"

namespace ingot {

class GraphWriter {
 public:
  GraphWriter(const Graph& graph, const SpelledGraph& spelled, JsonWriter& out) : graph_(graph), spelled_(spelled), out_(out) {}

  // The whole Graph struct.
  void write();
  // An argument of this graph, as the file has it, or as the reference would write it.
  void argument(const Argument& a, const SpelledArgument* spelled);
  // The name a value of the graph has in files.
  const std::string& name_of(const Node* n) const;

 private:
  const Graph& graph_;
  const SpelledGraph& spelled_;
  JsonWriter& out_;
  // Results of nodes that no file spelled: the items by node and index, items that repeat one of
  // these, and the names of results that nothing uses, which have no node.
  std::unordered_map<const Node*, std::map<std::size_t, const Node*>> items_;
  std::unordered_map<const Node*, const Node*> repeated_;
  std::vector<std::pair<std::string, Tensor>> unused_;

  void inputs();
  void outputs();
  void node(const Node& n);
  void node_inputs(const Node& n, const SpelledNode* s);
  void node_outputs(const Node& n, const SpelledNode* s);
  void spelled_outputs(const SpelledNode& s);
  void single_output(std::string_view tag, const Node* value);
  void unspelled_outputs(const Node& n);
  void metadata(const Node& n, const SpelledNode* s);
  void values();
  template <class F>
  void value_map(std::string_view key, SpelledValue::Map map, F&& write_entry);
  void tensor_meta(const Tensor& t, const SpelledValue* s);

  void content(std::string_view tag, const Argument& a, const SpelledArgument* spelled);
  void named(const Node* n);
  void symbolic(std::string_view tag, const Argument& a);
  template <class F>
  void each(const Argument& list, F&& write_element);
  std::string_view usual_tag(const Argument& a) const;
  SpelledValue::Map map_of(const Node& n) const;
};

// {"as_int": 3}, for literals and constants of signatures.
void write_literal(JsonWriter& out, const Value& v);

}  // namespace ingot
