// How a file spells what a graph holds in another form: which of an operator's arguments were
// written and under which tag, the texts of expressions, metadata nobody computes with. Only the
// writer (write.hpp) reads it, so that a program is written as it was read. It never holds a value
// that the graph holds.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/graph.hpp"
#include "format/pt2/symbols.hpp"

namespace ingot {

struct SpelledArgument {
  std::string_view tag;                // "as_int", …: of static storage
  std::string note;                    // as_device: "cuda:1"; as_custom_obj: its class
  std::vector<std::string> keys;       // as_string_to_argument
  std::vector<SpelledArgument> parts;  // and what the keys stand for
};

struct SpelledInput {
  std::string name;
  std::optional<int64_t> kind;  // 1 positional, 2 keyword
  SpelledArgument argument;
  int at = -1;     // which of Node::args it is; -1: none, the operator runs without it
  Argument value;  // where `at` is -1
};

struct SpelledOutput {
  std::string_view tag;
  std::vector<const Node*> values;  // one, or those of a list; none for as_none
};

struct SpelledNode {
  std::string target;  // where it is not the one the node's operator has
  std::string name;    // where it is not the node's; a file may have none
  bool is_named = true;
  std::vector<SpelledInput> inputs;
  std::vector<SpelledOutput> outputs;
  std::vector<std::pair<std::string, std::string>> metadata;  // but stack_trace, which is on the node
  bool has_stack_trace = false;
  std::optional<bool> single_return;  // is_hop_single_tensor_return
};

// A named value: a tensor, number or object.
struct SpelledValue {
  enum class Map : uint8_t { none, tensor, integer, real, boolean, object };
  std::string name;
  Map map = Map::none;  // which of the graph's maps has it
  std::string note;     // tensor: its device, "cuda:0"; object: its class
  bool requires_grad = false;
  Value plain;  // real, boolean: the value, where it is no expression
  // integer, real, boolean: one; tensor: sizes, strides and the offset, or nothing where all are
  // plain numbers.
  std::vector<SpelledNumber> numbers;
};

struct SpelledGraph {
  std::vector<std::pair<SpelledArgument, Argument>> inputs;
  std::set<std::size_t> constant_inputs;  // of them: those that the signature fixes, not the graph alone
  std::vector<SpelledArgument> outputs;
  std::unordered_map<const Node*, SpelledNode> nodes;
  std::unordered_map<const Node*, SpelledValue> values;
  std::map<std::string, SpelledGraph> subgraphs;  // by the key of the attribute
};

}  // namespace ingot
