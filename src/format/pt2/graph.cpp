#include "format/pt2/graph.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "graph/target.hpp"
#include "format/pt2/argument.hpp"
#include "format/pt2/meta.hpp"
#include "io/dense.hpp"
#include "op/applied.hpp"
#include "op/fits.hpp"
#include "op/op.hpp"

namespace ingot {

namespace {

// Where an entry "key,path,class" of a module stack has its commas: those inside brackets belong to
// a part.
std::vector<std::string_view> split_parts(std::string_view entry) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t from = 0;
  for (std::size_t i = 0; i < entry.size(); i++) {
    if (entry[i] == '(' || entry[i] == '[') depth++;
    else if (entry[i] == ')' || entry[i] == ']') depth--;
    else if (entry[i] == ',' && depth == 0) {
      parts.push_back(entry.substr(from, i - from));
      from = i + 1;
    }
  }
  parts.push_back(entry.substr(from));
  return parts;
}

// The innermost module as messages show it, "path (class)": entries are joined by ';', outermost
// first.
std::string innermost_module(std::string_view stack) {
  const auto parts = split_parts(stack.substr(stack.rfind(';') + 1));
  if (parts.size() != 3) return {};
  return text(parts[1], parts[1].empty() ? "" : " ", "(", parts[2], ")");
}

std::string target_of(const Node& n) {
  if (n.kind == NodeKind::scalar) return std::string(target_of(n.function));
  if (n.kind == NodeKind::vmap) return std::string(target_of(n.vmap_call));
  if (n.kind == NodeKind::call) return target_of(*n.op);
  return n.target;
}

class GraphReader final : ArgumentScope {
 public:
  GraphReader(Pt2Symbols& symbols, bool is_subgraph) : symbols_(symbols), is_subgraph_(is_subgraph) {}

  ReadGraph read(const Json& where) {
    const Json j = where.of("Graph");
    j.field("inputs").for_each([&](const Json& input) { read_input(input); });
    int64_t index = 0;
    j.field("nodes").for_each([&](const Json& node) { read_node(node.of("Node"), index++); });
    j.field("outputs").for_each([&](const Json& output) {
      out_.output_names.push_back(defined_name(output));
      graph().outputs.push_back(read_argument(output, nullptr, *this, spelled().outputs.emplace_back()));
    });
    const auto bare = j.optional("is_single_tensor_return");
    if (bare && bare->boolean()) {
      if (graph().outputs.size() != 1) j.fail(text("a bare result, and ", graph().outputs.size(), " outputs"));
      graph().returns = Graph::Returns::bare;
    }
    read_values(j);
    return std::move(out_);
  }

  // One node alone: what it refers to becomes an input.
  ReadGraph read_alone(const Json& node) {
    is_open_ = true;
    read_node(node.of("Node"), 0);
    for (const auto& n : graph().nodes())
      if (n->kind != NodeKind::placeholder) graph().outputs.emplace_back(n.get());
    return std::move(out_);
  }

 private:
  Pt2Symbols& symbols_;
  const bool is_subgraph_;
  bool is_open_ = false;  // a name without a definition is an input
  ReadGraph out_;
  std::unordered_map<std::string, Node*> values_;

  Graph& graph() { return out_.graph; }
  SpelledGraph& spelled() { return out_.spelled; }

  // ---- names

  Node* value(const std::string& name, const Json& where) override {
    const auto it = values_.find(name);
    if (it == values_.end() && is_open_) {
      Node* n = graph().placeholder(name);
      define(name, n, where);
      out_.inputs.emplace_back(n);
      out_.input_names.push_back(name);
      return n;
    }
    if (it == values_.end()) where.fail(text("value ", shown_name(name), " is used before it is defined"));
    return it->second;
  }

  Node* subgraph(const Json& where) override {
    const Json j = where.of("GraphArgument"), name = j.field("name");
    const std::string key = name.string();
    if (graph().find_attribute(key)) name.fail(text("subgraph ", shown_name(key), " is defined twice"));
    ReadGraph inner = GraphReader(symbols_, true).read(j.field("graph"));
    spelled().subgraphs.emplace(key, std::move(inner.spelled));
    graph().attributes.emplace_back(key, std::make_shared<const Graph>(std::move(inner.graph)));
    return graph().attribute(key);
  }

  void define(const std::string& name, Node* n, const Json& where) {
    if (!values_.emplace(name, n).second) where.fail(text("value ", shown_name(name), " is defined twice"));
    spelled().values[n].name = name;
  }

  // ---- inputs

  void read_input(const Json& j) {
    const std::string name = defined_name(j);
    out_.input_names.push_back(name);
    auto& [argument, value] = spelled().inputs.emplace_back();
    if (name.empty()) {
      constexpr std::string_view kLiterals[] = {"as_int", "as_float", "as_bool", "as_string", "as_none"};
      if (const std::string_view tag = j.tagged().first;
          std::find(std::begin(kLiterals), std::end(kLiterals), tag) == std::end(kLiterals))
        j.fail(text("an input of a graph cannot have kind ", shown_name(tag), " without a name"));
      value = read_argument(j, nullptr, *this, argument);
      out_.inputs.push_back(value);
      // Operands are matched by position, also those whose value the exporter wrote into the
      // subgraph.
      if (is_subgraph_) graph().placeholder("literal");
      return;
    }
    Node* n = graph().placeholder(name);
    define(name, n, j);
    value = read_argument(j, nullptr, *this, argument);
    out_.inputs.emplace_back(n);
  }

  // ---- nodes

  void read_node(const Json& j, int64_t index) {
    const std::string target = j.field("target").string();
    const std::vector<Json> outputs = j.field("outputs").list();
    const auto written = j.optional("name");
    std::string name = written ? written->string() : "";
    if (name.empty() && !outputs.empty()) name = first_name(outputs[0]);
    if (name.empty()) name = text("node", index);

    SpelledNode s;
    s.is_named = written.has_value();
    if (const auto single = j.optional("is_hop_single_tensor_return")) s.single_return = single->boolean();
    try {
      Node* n = make_node(j, target, name, s);
      if (n->name != name) s.name = name;
      if (target_of(*n) != target) s.target = target;
      if (const auto metadata = j.optional("metadata")) read_metadata(*metadata, *n, s);
      bind_outputs(n, j, outputs, s);
      spelled().nodes.emplace(n, std::move(s));
    } catch (const UserError& e) {
      const std::string_view message = e.what();
      if (message.find(text(name, ": ")) != message.npos) throw;
      throw_user_error(text(message, " (node ", name, ")"));
    }
  }

  static std::string first_name(const Json& output) {
    const auto [tag, value] = output.tagged();
    if (tag != "as_tensors") return defined_name(output);
    const auto members = value.list();
    return members.empty() ? "" : members[0].field("name").string();
  }

  // Metadata is never an error: what cannot be read is dropped.
  static void read_metadata(const Json& metadata, Node& n, SpelledNode& s) {
    if (!metadata.is_object()) return;
    for (const auto& [key, value] : metadata.fields()) {
      if (!value.is_string()) continue;
      const std::string written = value.string();
      if (key == "stack_trace") {
        n.stack_trace = written;
        s.has_stack_trace = true;
        continue;
      }
      if (key == "nn_module_stack") n.module_path = innermost_module(written);
      s.metadata.emplace_back(key, written);
    }
  }

  Node* make_node(const Json& j, const std::string& target, const std::string& name, SpelledNode& s) {
    if (const auto function = find_scalar_function(target))
      return graph().scalar(*function, counted_args(j, static_cast<std::size_t>(arity_of(*function)), target, name, s), name);
    if (const auto vmap = find_vmap_call(target))
      return graph().vmap(*vmap, counted_args(j, schema_of(*vmap).args.size(), target, name, s), name);
    const Op* op = find_target(target);
    if (op == nullptr) return unknown_node(j, target, name, s);
    if (op->form() != Form::higher_order) return graph().call(*op, named_args(j, *op, target, name, s), name);
    if (!applies_another(*op)) return graph().call(*op, ordered_args(j, *op, target, name, s), name);
    const Op* inner = operator_of(j);
    if (inner == nullptr) return graph().unsupported(target, positional_args(j, s), name);
    const bool by_name = keywords_argument(*op) >= 0;
    return graph().call(
        *op, by_name ? keyword_args(j, *op, *inner, target, name, s) : applied_args(j, *op, *inner, target, name, s), name);
  }

  Node* unknown_node(const Json& j, const std::string& target, const std::string& name, SpelledNode& s) {
    std::vector<Argument> args = positional_args(j, s);
    const bool is_item =
        target == "_operator.getitem" && args.size() == 2 && args[0].is_node() && args[1].is_value() && args[1].value().is_int();
    if (!is_item) return graph().unsupported(target, std::move(args), name);
    const int64_t index = args[1].value().to_int64();
    if (index < 0 || index > std::numeric_limits<int>::max())
      j.fail(text(name, ": ", target, ": an index should be from 0 to ", std::numeric_limits<int>::max(), ", found ", index));
    s.inputs[1].at = -1;  // an item has its index beside its arguments
    s.inputs[1].value = args[1];
    return graph().item(args[0].node(), static_cast<int>(index), name);
  }

  // ---- arguments

  SpelledInput& spell_input(const Json& a, SpelledNode& s) {
    SpelledInput& input = s.inputs.emplace_back();
    input.name = a.field("name").string();
    if (const auto kind = a.optional("kind")) {
      input.kind = kind->integer();
      if (*input.kind < 1 || *input.kind > 2) kind->fail(text("unknown ArgumentKind ", *input.kind));
    }
    return input;
  }
  static std::vector<Json> inputs_of(const Json& j) {
    return j.field("inputs").map([](const Json& a) { return a.of("NamedArgument"); });
  }

  std::vector<Argument> positional_args(const Json& j, SpelledNode& s) {
    std::vector<Argument> args;
    for (const Json& a : inputs_of(j)) {
      SpelledInput& input = spell_input(a, s);
      input.at = static_cast<int>(args.size());
      args.push_back(read_argument(a.field("arg"), nullptr, *this, input.argument));
    }
    return args;
  }

  std::vector<Argument> counted_args(const Json& j, std::size_t count, const std::string& target, const std::string& name,
                                     SpelledNode& s) {
    std::vector<Argument> args = positional_args(j, s);
    if (args.size() != count) j.fail(text(name, ": ", target, " takes ", count, " arguments, found ", args.size()));
    return args;
  }

  // One argument, checked against what the operator takes there.
  Argument checked(const Json& a, const SchemaArg& param, const std::string& target, const std::string& name,
                   SpelledInput& input) {
    Argument argument = read_argument(a.field("arg"), &param.type, *this, input.argument);
    if (!tag_fits(input.argument, argument, param.type))
      a.fail(text(name, ": ", target, ": argument ", param.name, " has kind ", input.argument.tag, ", ", type_text(param),
                  " expected"));
    return argument;
  }

  // Of a higher-order op: first those without a name, then keywords. Options that only tell how to
  // run a region are kept beside the call.
  std::vector<Argument> ordered_args(const Json& j, const Op& op, const std::string& target, const std::string& name,
                                     SpelledNode& s) {
    const auto& params = op.schema.args;
    std::vector<Argument> args;
    for (const Json& a : inputs_of(j)) {
      SpelledInput& input = spell_input(a, s);
      const int named = input.name.empty() ? -1 : op.schema.index_of(input.name);
      const bool is_option = !input.name.empty() && named < 0 && op.schema.variadic_args;
      const bool is_next =
          input.name.empty() ? args.size() < params.size() || op.schema.variadic_args : named == static_cast<int>(args.size());
      if (is_option) {
        input.value = read_argument(a.field("arg"), nullptr, *this, input.argument);
        continue;
      }
      if (!is_next) a.fail(text(name, ": ", target, ": the operator has no argument ", shown_name(input.name)));
      input.at = static_cast<int>(args.size());
      args.push_back(args.size() < params.size() ? checked(a, params[args.size()], target, name, input)
                                                 : read_argument(a.field("arg"), nullptr, *this, input.argument));
    }
    for (std::size_t i = args.size(); i < params.size(); i++)
      if (!params[i].has_default) j.fail(text(name, ": ", target, ": argument ", params[i].name, " is missing"));
    return args;
  }

  // The operator that a higher-order one applies; null if Ingot does not know it.
  static const Op* operator_of(const Json& j) {
    for (const Json& a : inputs_of(j)) {
      const auto [tag, v] = a.field("arg").tagged();
      if (tag == "as_operator") return find_target(v.string());
    }
    return nullptr;
  }
  // Arguments of an op that applies `inner` and takes what it hands on by name: (operator,
  // keywords, values…).
  std::vector<Argument> keyword_args(const Json& j, const Op& op, const Op& inner, const std::string& target,
                                     const std::string& name, SpelledNode& s) {
    std::vector<Argument> args(op.schema.args.size());
    Values keywords;
    for (const Json& a : inputs_of(j)) {
      SpelledInput& input = spell_input(a, s);
      if (input.name.empty()) {
        if (!args[0].is_none()) a.fail(text(name, ": ", target, ": arguments after the operator have names"));
        input.at = 0;
        args[0] = read_argument(a.field("arg"), nullptr, *this, input.argument);
        continue;
      }
      const SchemaArg* param = applied_parameter(inner, input.name);
      if (!param && !is_view_keyword(inner, input.name))
        a.fail(text(name, ": ", target, ": ", inner.qualified(), " has no argument ", shown_name(input.name)));
      if (std::any_of(keywords.begin(), keywords.end(), [&](const Value& k) { return k.string() == input.name; }))
        a.fail(text(name, ": ", target, ": argument ", input.name, " is given twice"));
      keywords.emplace_back(input.name);
      input.at = static_cast<int>(args.size());
      args.push_back(param ? checked(a, *param, target, name, input)
                           : read_argument(a.field("arg"), nullptr, *this, input.argument));
    }
    args[static_cast<std::size_t>(keywords_argument(op))] = Value(keywords);
    if (!args[0].is_value() || !args[0].value().is_string()) j.fail(text(name, ": ", target, ": argument operator is missing"));
    for (const SchemaArg& param : inner.schema.args)
      if (!param.has_default && !param.type.writes() &&
          std::none_of(keywords.begin(), keywords.end(), [&](const Value& k) { return k.string() == param.name; }))
        j.fail(text(name, ": ", target, ": argument ", param.name, " is missing"));
    return args;
  }
  // Arguments of an op that applies `inner`: its own, then all of the inner one's in the order of
  // its schema.
  std::vector<Argument> applied_args(const Json& j, const Op& op, const Op& inner, const std::string& target,
                                     const std::string& name, SpelledNode& s) {
    const auto &own = op.schema.args, &params = inner.schema.args;
    std::vector<Argument> args(own.size() + params.size());
    std::vector<bool> given(args.size());
    std::size_t next = 0;
    for (const Json& a : inputs_of(j)) {
      SpelledInput& input = spell_input(a, s);
      std::size_t at = next;
      if (!input.name.empty()) {
        const int i = inner.schema.index_of(input.name);
        if (i < 0) a.fail(text(name, ": ", target, ": ", inner.qualified(), " has no argument ", shown_name(input.name)));
        at = own.size() + static_cast<std::size_t>(i);
      }
      if (at >= args.size() || given[at]) a.fail(text(name, ": ", target, ": more arguments than ", inner.qualified(), " takes"));
      const SchemaArg& param = at < own.size() ? own[at] : params[at - own.size()];
      if (at < own.size() && static_cast<int>(at) == operator_argument(op))
        args[at] = read_argument(a.field("arg"), nullptr, *this, input.argument);
      else args[at] = checked(a, param, target, name, input);
      input.at = static_cast<int>(at);
      given[at] = true;
      if (input.name.empty()) next++;
    }
    for (std::size_t i = 0; i < args.size(); i++) {
      if (given[i]) continue;
      const SchemaArg& param = i < own.size() ? own[i] : params[i - own.size()];
      if (!param.has_default) j.fail(text(name, ": ", target, ": argument ", param.name, " is missing"));
      args[i] = param.default_value;
    }
    return args;
  }

  std::vector<Argument> named_args(const Json& j, const Op& op, const std::string& target, const std::string& name,
                                   SpelledNode& s) {
    const auto& params = op.schema.args;
    std::vector<Argument> args(params.size());
    std::vector<bool> given(params.size());
    for (const Json& a : inputs_of(j)) {
      SpelledInput& input = spell_input(a, s);
      const int i = op.schema.index_of(input.name);
      if (i < 0) a.fail(text(name, ": ", target, ": the operator has no argument ", shown_name(input.name)));
      const auto at = static_cast<std::size_t>(i);
      if (given[at]) a.fail(text(name, ": ", target, ": argument ", input.name, " is given twice"));
      given[at] = true;
      input.at = i;
      args[at] = checked(a, params[at], target, name, input);
    }
    for (std::size_t i = 0; i < params.size(); i++) {
      if (given[i]) continue;
      if (!params[i].has_default) j.fail(text(name, ": ", target, ": argument ", params[i].name, " is missing"));
      args[i] = params[i].default_value;
    }
    return args;
  }

  // ---- outputs

  // One output is the node's value itself, several are its elements; an output that is a list has
  // elements again.
  void bind_outputs(Node* n, const Json& j, const std::vector<Json>& outputs, SpelledNode& s) {
    const bool flat_list = n->op != nullptr && n->op->form() == Form::higher_order;
    if (n->op != nullptr && !flat_list && outputs.size() != n->op->schema.results.size())
      j.fail(text(n->name, ": ", target_of(*n), " has ", n->op->schema.results.size(), " results, found ", outputs.size(),
                  " outputs"));
    if (outputs.size() == 1 && !flat_list) return bind(n, outputs[0], s);
    for (std::size_t i = 0; i < outputs.size(); i++) {
      const bool none = outputs[i].tagged().first == "as_none";
      bind(none ? n : element(n, i, defined_name(outputs[i])), outputs[i], s);
    }
  }

  void bind(Node* n, const Json& output, SpelledNode& s) {
    constexpr std::string_view kSingle[] = {"as_tensor", "as_sym_int", "as_sym_float", "as_sym_bool", "as_custom_obj"};
    const auto [tag, value] = output.tagged();
    SpelledOutput& o = s.outputs.emplace_back();
    if (tag == "as_tensors") {
      o.tag = "as_tensors";
      const auto members = value.list();
      for (std::size_t i = 0; i < members.size(); i++) {
        const std::string name = members[i].field("name").string();
        Node* member = element(n, i, name);
        define(name, member, members[i]);
        o.values.push_back(member);
      }
    } else if (const std::string name = defined_name(output); !name.empty()) {
      o.tag = *std::find(std::begin(kSingle), std::end(kSingle), tag);
      o.values.push_back(n);
      define(name, n, output);
    } else if (tag == "as_none") {
      o.tag = "as_none";
    } else {
      output.fail(text("node ", n->name, ": an output cannot have kind ", tag));
    }
  }

  // Where it was written is said once, by the node itself (source.hpp).
  Node* element(Node* list, std::size_t i, std::string_view name) { return graph().item(list, static_cast<int>(i), name); }

  // ---- what the file says about the values

  // Calls f(entry, node, spelling) for every entry of a map that describes a value of the graph.
  // Entries of other names say nothing about it.
  template <class F>
  void for_each_entry(const Json& graph, std::string_view map, F&& f) {
    const auto entries = graph.optional(map);
    if (!entries) return;
    for (const auto& [name, entry] : entries->fields()) {
      const auto it = values_.find(std::string(name));
      if (it == values_.end()) continue;
      SpelledValue& s = spelled().values.at(it->second);
      if (s.map != SpelledValue::Map::none) entry.fail(text("value ", shown_name(name), " is described twice"));
      f(entry, *it->second, s);
    }
  }

  void read_values(const Json& j) {
    using Map = SpelledValue::Map;
    for_each_entry(j, "tensor_values",
                   [&](const Json& entry, Node& n, SpelledValue& s) { n.meta = read_tensor_meta(entry, s.name, symbols_, s); });
    for_each_entry(j, "sym_int_values", [&](const Json& entry, Node& n, SpelledValue& s) {
      s.map = Map::integer;
      n.meta = *symbols_.read_int(entry, s.name, false, s.numbers.emplace_back());
    });
    for (const auto& [map, kind] : {std::pair{"sym_float_values", Map::real}, {"sym_bool_values", Map::boolean}})
      for_each_entry(j, map, [&, k = kind](const Json& entry, Node& n, SpelledValue& s) {
        s.map = k;
        n.meta = s.plain = symbols_.read_scalar(entry, s.name, s.numbers.emplace_back());
      });
    for_each_entry(j, "custom_obj_values", [&](const Json& entry, Node&, SpelledValue& s) {
      s.map = Map::object;
      s.note = entry.of("CustomObjArgument").field("class_fqn").string();
    });
    for (const auto& n : graph().nodes())
      if (const auto it = spelled().nodes.find(n.get()); it != spelled().nodes.end()) set_list_meta(*n, it->second);
  }

  // The meta of a node with several tensor results, or a list of them.
  static void set_list_meta(Node& n, const SpelledNode& s) {
    TensorList metas;
    bool any = false;
    for (const SpelledOutput& o : s.outputs) {
      if (o.tag == "as_none") metas.emplace_back();
      if (o.tag == "as_tensors" && s.outputs.size() > 1) return;
      for (const Node* member : o.values) {
        if (member == &n || !member->meta.is_tensor()) return;
        metas.push_back(member->meta.tensor());
        any = true;
      }
    }
    if (any) n.meta = metas;
  }
};

}  // namespace

ReadGraph read_graph(const Json& graph, Pt2Symbols& symbols) { return GraphReader(symbols, false).read(graph); }

std::vector<std::pair<std::string, Graph>> read_proxy_calls(const Json& document) {
  std::vector<std::pair<std::string, Graph>> calls;
  document.field("nodes").for_each([&](const Json& entry) {
    Pt2Symbols symbols;
    calls.emplace_back(entry.field("name").string(), GraphReader(symbols, false).read_alone(entry.field("node")).graph);
  });
  return calls;
}

}  // namespace ingot
