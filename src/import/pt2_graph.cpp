#include "import/pt2_graph.hpp"

#include "base/error.hpp"
#include "graph/target.hpp"
#include "import/pt2_argument.hpp"
#include "io/dense.hpp"
#include "op/op.hpp"

namespace ingot {

namespace {

// The path of the innermost module: entries "key,path,class" joined by ';', outermost first.
std::string innermost_module(std::string_view stack) {
  const std::string_view last = stack.substr(stack.rfind(';') + 1);
  const std::size_t begin = last.find(','), end = last.find(',', begin + 1);
  if (begin == last.npos || end == last.npos) return {};
  return std::string(last.substr(begin + 1, end - begin - 1));
}

class GraphReader final : ArgumentScope {
 public:
  ReadGraph read(const Json& j) {
    for (const Json& input : j.field("inputs").list()) read_input(input);
    int64_t index = 0;
    for (const Json& node : j.field("nodes").list()) read_node(node, index++);
    for (const Json& output : j.field("outputs").list()) {
      out_.output_names.push_back(defined_name(output));
      graph().outputs.push_back(read_argument(output, nullptr, *this));
    }
    const auto bare = j.optional("is_single_tensor_return");
    if (bare && bare->boolean()) {
      if (graph().outputs.size() != 1) j.fail(text("a bare result, and ", graph().outputs.size(), " outputs"));
      graph().returns = Graph::Returns::bare;
    }
    return std::move(out_);
  }

 private:
  ReadGraph out_;
  std::map<std::string, Node*> values_;
  Node* value(const std::string& name, const Json& where) override {
    const auto it = values_.find(name);
    if (it == values_.end()) where.fail(text("value ", shown_name(name), " is used before it is defined"));
    return it->second;
  }

  Node* subgraph(const Json& j) override {
    const Json name = j.field("name");
    const std::string key = name.string();
    if (graph().find_attribute(key)) name.fail(text("subgraph ", shown_name(key), " is defined twice"));
    graph().attributes.emplace_back(key, std::make_shared<const Graph>(GraphReader().read(j.field("graph")).graph));
    return graph().attribute(key);
  }

  Graph& graph() { return out_.graph; }

  void define(const std::string& name, Node* n, const Json& where) {
    if (!values_.emplace(name, n).second) where.fail(text("value ", shown_name(name), " is defined twice"));
  }

  void read_input(const Json& j) {
    const std::string name = defined_name(j);
    out_.input_names.push_back(name);
    if (name.empty()) {
      out_.inputs.emplace_back(read_argument(j, nullptr, *this));
      return;
    }
    Node* n = graph().placeholder(name);
    define(name, n, j);
    out_.inputs.emplace_back(n);
  }

  void read_node(const Json& j, int64_t index) {
    const std::string target = j.field("target").string();
    const std::vector<Json> outputs = j.field("outputs").list();
    const auto written = j.optional("name");
    std::string name = written ? written->string() : "";
    if (name.empty() && !outputs.empty()) name = defined_name(outputs[0]);
    if (name.empty()) name = text("node", index);

    Node* n = make_node(j, target, name);
    if (const auto metadata = j.optional("metadata")) {
      if (const auto trace = metadata->optional("stack_trace")) n->stack_trace = trace->string();
      if (const auto modules = metadata->optional("nn_module_stack")) n->module_path = innermost_module(modules->string());
    }
    bind_outputs(n, outputs);
  }

  Node* make_node(const Json& j, const std::string& target, const std::string& name) {
    if (const auto function = find_scalar_function(target)) {
      std::vector<Argument> args = positional_args(j);
      if (static_cast<int>(args.size()) != arity_of(*function))
        j.fail(text(name, ": ", target, " takes ", arity_of(*function), " arguments, found ", args.size()));
      return graph().scalar(*function, std::move(args), name);
    }
    if (target == kGradModeTarget) return make_grad_mode(j, name);
    const Op* op = find_target(target);
    if (op == nullptr) return graph().unsupported(target, positional_args(j), name);
    std::vector<Argument> args = op->form() == Form::higher_order ? ordered_args(j, *op, target, name) : named_args(j, *op, target, name);
    return graph().call(*op, std::move(args), name);
  }

  Node* make_grad_mode(const Json& j, const std::string& name) {
    const std::vector<Argument> args = positional_args(j);
    const bool one_flag = args.size() == 1 && args[0].is_value() && args[0].value().is_bool();
    if (!one_flag) j.fail(text(name, ": ", kGradModeTarget, " takes one bool"));
    return graph().grad_mode(args[0].value().to_bool(), name);
  }

  std::vector<Argument> positional_args(const Json& j) {
    return j.field("inputs").map([&](const Json& a) { return read_argument(a.field("arg"), nullptr, *this); });
  }

  // Of a higher-order op: first those without a name, then keywords.
  std::vector<Argument> ordered_args(const Json& j, const Op& op, const std::string& target, const std::string& name) {
    const auto& params = op.schema.args;
    std::vector<Argument> args;
    for (const Json& a : j.field("inputs").list()) {
      const std::string key = a.field("name").string();
      const Json arg = a.field("arg");
      const bool fits = args.size() < params.size() || op.schema.variadic_args;
      if (!key.empty() || !fits) a.fail(text(name, ": ", target, ": the operator has no argument ", shown_name(key)));
      args.push_back(read_argument(arg, args.size() < params.size() ? &params[args.size()].type : nullptr, *this));
    }
    return args;
  }

  std::vector<Argument> named_args(const Json& j, const Op& op, const std::string& target, const std::string& name) {
    const auto& params = op.schema.args;
    std::vector<Argument> args(params.size());
    std::vector<bool> given(params.size());
    for (const Json& a : j.field("inputs").list()) {
      const std::string key = a.field("name").string();
      const int i = op.schema.index_of(key);
      if (i < 0) a.fail(text(name, ": ", target, ": the operator has no argument ", shown_name(key)));
      const auto at = static_cast<std::size_t>(i);
      const Json arg = a.field("arg");
      if (given[at]) a.fail(text(name, ": ", target, ": argument ", key, " is given twice"));
      if (is_opaque(arg)) a.fail(text(name, ": ", target, ": argument ", key, " has kind ", arg.tagged().first));
      given[at] = true;
      args[at] = read_argument(arg, &params[at].type, *this);
    }
    for (std::size_t i = 0; i < params.size(); i++) {
      if (given[i]) continue;
      if (!params[i].has_default) j.fail(text(name, ": ", target, ": argument ", params[i].name, " is missing"));
      args[i] = params[i].default_value;
    }
    return args;
  }

  // One output is the node's value itself, several are its elements; an output that is a list has elements again.
  void bind_outputs(Node* n, const std::vector<Json>& outputs) {
    const bool flat_list = n->op != nullptr && n->op->form() == Form::higher_order;
    if (outputs.size() == 1 && !flat_list) return bind(n, outputs[0]);
    for (std::size_t i = 0; i < outputs.size(); i++) {
      const bool none = outputs[i].tagged().first == "as_none";
      if (!none) bind(element(n, i, defined_name(outputs[i])), outputs[i]);
    }
  }

  void bind(Node* n, const Json& output) {
    const auto [tag, value] = output.tagged();
    if (tag == "as_tensors") {
      const auto members = value.list();
      for (std::size_t i = 0; i < members.size(); i++) {
        const std::string name = members[i].field("name").string();
        define(name, element(n, i, name), members[i]);
      }
    } else if (const std::string name = defined_name(output); !name.empty()) {
      define(name, n, output);
    } else if (tag != "as_none") {
      output.fail(text("node ", n->name, ": an output cannot have kind ", tag));
    }
  }

  Node* element(Node* list, std::size_t i, std::string_view name) {
    Node* n = graph().item(list, static_cast<int>(i), name);
    n->stack_trace = list->stack_trace;
    n->module_path = list->module_path;
    return n;
  }
};

}  // namespace

ReadGraph read_graph(const Json& graph) { return GraphReader().read(graph); }

}  // namespace ingot
