// Graph: a program as a list of nodes in order of execution, each naming the values it uses. A pass
// is a function from one graph to another: it reads nodes and appends to a new graph, so nodes are
// only ever added at the end and a node comes before its users.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graph/names.hpp"
#include "graph/scalar_function.hpp"
#include "graph/vmap_call.hpp"
#include "op/op.hpp"

namespace ingot {

struct Node;
struct SavePolicy;  // graph/save_policy.hpp
class Graph;

// One argument: a constant, the result of a node, or a list of arguments of which at least one (at
// any depth) is a node. A list of constants is a constant.
class Argument {
 public:
  Argument();  // None. Out of line, as of Value
  Argument(const Argument& o);
  Argument(Argument&& o) noexcept;
  Argument& operator=(const Argument& o);
  Argument& operator=(Argument&& o) noexcept;
  ~Argument();
  Argument(Value v);
  Argument(Node* n);
  // Collapses to a constant where no element refers to a node.
  static Argument list(std::vector<Argument> elements);

  bool is_value() const { return std::holds_alternative<Value>(v_); }
  bool is_node() const { return std::holds_alternative<Node*>(v_); }
  bool is_list() const { return std::holds_alternative<std::vector<Argument>>(v_); }
  bool is_none() const { return is_value() && value().is_none(); }
  const Value& value() const { return std::get<Value>(v_); }
  Node* node() const { return std::get<Node*>(v_); }
  const std::vector<Argument>& elements() const { return std::get<std::vector<Argument>>(v_); }

 private:
  std::variant<Value, Node*, std::vector<Argument>> v_;
};

enum class NodeKind : uint8_t {
  placeholder,  // an input of the graph
  attribute,    // a tensor or subgraph the graph holds, by name (FX's get_attr)
  call,         // an operator call through `call(op, args)`
  item,         // element `index` of the list that args[0] makes (FX's getitem)
  scalar,       // arithmetic on numbers: _operator.add, torch.sym_max …
  grad_mode,    // torch._C._set_grad_enabled(args[0])
  vmap,         // begins or ends a function that is mapped over members, or gives it a tensor or takes one (vmap_region.hpp)
  unsupported,  // a call of `target`, which Ingot does not know: the program can be read and listed, not run
};

// What an input or a result is to those who made the graph; entry points of programs say it in the
// same words (program/entry_point.hpp).
enum class Role : uint8_t {
  value,     // anything
  tangent,   // input of a joint or backward graph: the gradient of a result, which is known when the backward runs
  saved,     // result of a forward, or input of its backward: what the one keeps for the other
  gradient,  // result of a backward
};
inline bool is_of_input(Role r) { return r != Role::gradient; }
inline bool is_of_result(Role r) { return r != Role::tangent; }

struct Node {
  NodeKind kind = NodeKind::call;
  Role role = Role::value;     // placeholder: what it comes as; others: what they, or views of them, are returned as
  int id = 0;                  // position in its graph: a key for dense tables
  std::string name;            // unique in its graph, an identifier
  const Op* op = nullptr;      // call
  ScalarFunction function{};   // scalar
  VmapCall vmap_call{};        // vmap
  std::string target;          // attribute: the key in Graph::attributes; unsupported: what it would call
  int index = 0;               // item
  std::vector<Argument> args;  // call: one for each argument of the schema, defaults filled in

  // What the node makes, as far as known: a fake tensor, a list of them, or a (symbolic) number.
  // None: unknown.
  Value meta;
  // Where the program's author wrote it: the stack trace, and the path of the module it stands in.
  // May be empty.
  std::string stack_trace, module_path;
  // What the author said about keeping the value for a backward; null: nothing.
  std::shared_ptr<const SavePolicy> saving;
};

// What an attribute node fetches.
using Attribute = std::variant<Tensor, std::shared_ptr<const Graph>>;

// Tensors and subgraphs by the key an attribute node names, in order of definition.
class Attributes {
 public:
  using Entry = std::pair<std::string, Attribute>;

  void emplace_back(std::string key, Attribute a);  // user error for a key that is taken
  void set(std::string key, Attribute a);           // replaces what the key had, or adds it
  const Attribute* find(std::string_view key) const;

  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  std::vector<Entry>::const_iterator begin() const { return entries_.begin(); }
  std::vector<Entry>::const_iterator end() const { return entries_.end(); }

 private:
  std::vector<Entry> entries_;
  std::map<std::string, std::size_t, std::less<>> index_;
};

class Graph {
 public:
  Graph() = default;
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;  // nodes keep their addresses

  // In order of execution. Placeholders come first.
  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  const std::vector<Node*>& inputs() const { return inputs_; }

  // Each adds a node at the end. `name` is a wish: the node gets it, or it with a suffix
  // (names.hpp). Without a wish the name is the one FX would choose.
  Node* placeholder(std::string_view name, Role role = Role::value);
  // What the key stands for may be added to `attributes` later.
  Node* attribute(std::string_view key, std::string_view name = {});
  // `args` may stop early: the schema's defaults are filled in. User error for more than the schema
  // has.
  Node* call(const Op& op, std::vector<Argument> args, std::string_view name = {});
  Node* item(Node* list, int index, std::string_view name = {});
  Node* scalar(ScalarFunction f, std::vector<Argument> args, std::string_view name = {});
  Node* grad_mode(bool on, std::string_view name = {});
  Node* vmap(VmapCall c, std::vector<Argument> args, std::string_view name = {});
  Node* unsupported(std::string_view target, std::vector<Argument> args, std::string_view name = {});

  // What the graph returns, and how: a tuple `(a, b,)`, a list `[a, b]`, or the one bare value.
  enum class Returns : uint8_t { tuple, list, bare };
  std::vector<Argument> outputs;
  Returns returns = Returns::tuple;

  Attributes attributes;
  const Attribute* find_attribute(std::string_view key) const { return attributes.find(key); }

 private:
  Node* add(NodeKind kind, std::string_view name, std::vector<Argument> args);
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Node*> inputs_;
  NodeNames names_;
};

// Calls f(node) for every node the argument refers to, in order, at any depth.
template <class F>
void for_each_node(const Argument& a, F&& f) {
  if (a.is_node()) f(a.node());
  else if (a.is_list())
    for (const Argument& e : a.elements()) for_each_node(e, f);
}
template <class F>
void for_each_node(const std::vector<Argument>& args, F&& f) {
  for (const Argument& a : args) for_each_node(a, f);
}

}  // namespace ingot
