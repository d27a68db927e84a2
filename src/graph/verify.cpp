#include "graph/verify.hpp"

#include <unordered_set>

#include "base/error.hpp"
#include "base/index.hpp"
#include "op/excerpt.hpp"
#include "graph/annotation.hpp"
#include "graph/node_table.hpp"
#include "graph/same.hpp"
#include "graph/shape_rule.hpp"
#include "graph/source.hpp"
#include "graph/vmap_region.hpp"
#include "op/applied.hpp"
#include "op/fits.hpp"

namespace ingot {

namespace {

// What is known of a node's result where the schema says `t`; empty if it fits or nothing is known.
std::string node_misfit(const Graph& g, const SchemaType& t, const Node& n) {
  const Attribute* attribute = n.kind == NodeKind::attribute ? g.find_attribute(n.target) : nullptr;
  if (attribute && std::holds_alternative<std::shared_ptr<const Graph>>(*attribute)) {
    const bool takes_functions = t.kind == Kind::function || t.kind == Kind::any || t.kind == Kind::other;
    return takes_functions ? "" : "a subgraph";
  }
  const Value v = attribute ? Value(std::get<Tensor>(*attribute)) : n.meta;
  if (v.is_none() || fits(t, v) || widens(t, v)) return {};
  return std::string(v.kind_name());
}

// What the argument is where it does not fit; else empty.
std::string misfit(const Graph& g, const SchemaType& t, const Argument& a) {
  if (a.is_node()) return node_misfit(g, t, *a.node());
  if (a.is_value()) return fits(t, a.value()) || widens(t, a.value()) ? "" : std::string(a.value().kind_name());
  if (t.kind == Kind::any || t.kind == Kind::other) return {};
  if (!t.is_list()) return "a list";
  const SchemaType element = element_type(t);
  for (const Argument& e : a.elements())
    if (const std::string m = misfit(g, element, e); !m.empty()) return text("a list with ", m);
  return {};
}

// Constants that have no text: they belong into attributes or nodes.
std::string_view unwritable(const Value& v) {
  if (v.is_tensor()) return "a tensor, which must be an attribute of the graph";
  if (v.is_function()) return "a function, which must be an attribute of the graph";
  if (v.is_generator()) return "a generator, which cannot stand in a graph";
  if ((v.is_int() && v.to_int().is_symbolic()) || (v.is_float() && v.to_float().is_symbolic()))
    return "a symbolic number, which must be a node";
  if (v.is_ints() && v.ints().is_symbolic()) return "a list with a symbolic number, which must be a node";
  if (v.is_tensors())
    for (const Tensor& t : v.tensors())
      if (t.defined()) return "a list with a tensor, which must be an attribute of the graph";
  if (v.is_values())
    for (const Value& e : v.values())
      if (const std::string_view u = unwritable(e); !u.empty()) return u;
  return {};
}

class Verifier {
 public:
  Verifier(const Graph& g, GraphForm records) : graph_(g), records_(records) {}

  std::string run() {
    std::size_t line = 2;
    for (const auto& n : graph_.nodes()) {
      const bool placeholder = n->kind == NodeKind::placeholder;
      const std::string fault = node_fault(*n);
      if (!fault.empty()) return report(text("node ", n->name, ": ", fault, source(*n)), placeholder ? 1 : line);
      if (!placeholder) line++;
    }
    if (const std::string fault = outputs_fault(); !fault.empty()) return report(text("the results: ", fault), line);
    if (const VmapFault fault = vmap_fault(graph_); !fault.text.empty()) {
      if (fault.node == nullptr) return report(text("the results: ", fault.text), line);
      return report(text("node ", fault.node->name, ": ", fault.text, source(*fault.node)), line_of(*fault.node));
    }
    for (const auto& [key, attribute] : graph_.attributes) {
      const auto* subgraph = std::get_if<std::shared_ptr<const Graph>>(&attribute);
      if (subgraph == nullptr) continue;
      if (*subgraph == nullptr) return text("subgraph ", key, " is missing");
      if (const std::string fault = find_fault(**subgraph, records_); !fault.empty()) return text("subgraph ", key, ": ", fault);
    }
    return {};
  }

 private:
  const Graph& graph_;
  const GraphForm records_;
  std::unordered_set<std::string_view> names_;
  int defined_ = 0;        // nodes seen so far
  bool body_began_ = false;  // a node that is no placeholder was seen

  static std::string source(const Node& n) {
    const std::string at = source_line(source_of(n).stack_trace);
    return at.empty() ? at : text(" (at ", at, ")");
  }
  // Of a node that is no placeholder, where those come first.
  std::size_t line_of(const Node& n) const { return 2 + at(&n) - graph_.inputs().size(); }
  std::string report(const std::string& fault, std::size_t line) const { return fault + excerpt(print(graph_), {line, 0}); }

  std::string node_fault(const Node& n) {
    if (n.id != defined_) return text("its id is ", n.id, ", and its place ", defined_);
    if (!is_identifier(n.name)) return "the name is no identifier";
    if (is_reserved(n.name)) return "the name has a meaning in Python";
    if (!names_.insert(n.name).second) return "the name is defined twice";
    for (const Argument& a : n.args)
      if (std::string f = operand_fault(a); !f.empty()) return f;
    std::string f = kind_fault(n);
    if (f.empty()) f = record_fault(graph_, n, records_);
    defined_++;
    return f;
  }

  std::string operand_fault(const Argument& a) const {
    if (a.is_node()) {
      const Node* used = a.node();
      if (used->id < 0 || at(used) >= graph_.nodes().size() || graph_.nodes()[at(used)].get() != used)
        return text("uses ", used->name, ", which is a node of another graph");
      if (used->id >= defined_) return text("uses ", used->name, " before its definition");
      return {};
    }
    if (a.is_value()) {
      const std::string_view u = unwritable(a.value());
      return u.empty() ? "" : text("uses ", u);
    }
    for (const Argument& e : a.elements())
      if (std::string f = operand_fault(e); !f.empty()) return f;
    return {};
  }

  std::string kind_fault(const Node& n) {
    const bool is_input = n.kind == NodeKind::placeholder;
    if (!(is_input ? is_of_input(n.role) : is_of_result(n.role)))
      return text(is_input ? "an input" : "a node that is no input", " cannot be a ", word_of(n.role));
    if (is_input) return placeholder_fault(n);
    body_began_ = true;
    switch (n.kind) {
      case NodeKind::attribute: return graph_.find_attribute(n.target) ? "" : text("the graph has no attribute ", n.target);
      case NodeKind::call: return call_fault(n);
      case NodeKind::item: return item_fault(n);
      case NodeKind::scalar: return scalar_fault(n);
      case NodeKind::grad_mode:
        if (n.args.size() == 1 && n.args[0].is_value() && n.args[0].value().is_bool()) return {};
        return "the grad mode must be True or False";
      case NodeKind::vmap: return vmap_arguments_fault(n);
      case NodeKind::placeholder:
      case NodeKind::unsupported: break;
    }
    return {};
  }

  std::string placeholder_fault(const Node& n) const {
    if (body_began_) return "a placeholder comes after a node that is none";
    const auto at = static_cast<std::size_t>(defined_);
    return at < graph_.inputs().size() && graph_.inputs()[at] == &n ? "" : "the placeholder is not among the graph's inputs";
  }

  std::string call_fault(const Node& n) const {
    if (n.op == nullptr) return "the call has no operator";
    const auto& params = n.op->schema.args;
    const bool right_count = n.op->schema.variadic_args ? n.args.size() >= params.size() : n.args.size() == params.size();
    if (!right_count) return text(n.op->name, " takes ", params.size(), " arguments, found ", n.args.size());
    for (std::size_t i = 0; i < params.size(); i++)
      if (const std::string f = argument_fault(graph_, params[i], n.args[i]); !f.empty())
        return text("argument '", params[i].name, "' (position ", i + 1, ") ", f, "; the schema is ", to_text(n.op->schema));
    return keywords_argument(*n.op) < 0 ? "" : keywords_fault(n);
  }

  // Of an op that hands arguments on by name to the one it applies.
  std::string keywords_fault(const Node& n) const {
    const Argument &name = n.args[at(operator_argument(*n.op))], &keywords = n.args[at(keywords_argument(*n.op))];
    const Op* applied = name.is_value() && name.value().is_string() ? find_op(name.value().string()) : nullptr;
    if (!applied) return text("applies ", print(name), ", which is no operator that Ingot knows");
    if (!keywords.is_value()) return "the names of its arguments must be strings";
    const Values names = list_elements(keywords.value());
    const std::size_t first = n.op->schema.args.size();
    if (names.size() != n.args.size() - first)
      return text(names.size(), " names for ", n.args.size() - first, " arguments of ", applied->qualified());
    for (std::size_t i = 0; i < names.size(); i++) {
      if (!names[i].is_string()) return "the names of its arguments must be strings";
      const SchemaArg* param = applied_parameter(*applied, names[i].string());
      if (!param && !is_view_keyword(*applied, names[i].string()))
        return text(applied->qualified(), " has no argument '", names[i].string(), "'");
      if (const std::string f = param ? argument_fault(graph_, *param, n.args[first + i]) : ""; !f.empty())
        return text("argument '", names[i].string(), "' ", f, "; the schema is ", to_text(applied->schema));
    }
    return {};
  }

  // The number of elements of the list is known from the operator's schema, or from what is known
  // about the value.
  std::string item_fault(const Node& n) const {
    if (n.args.size() != 1 || !n.args[0].is_node()) return "an element is taken of the result of one node";
    const Node& list = *n.args[0].node();
    if (n.index < 0) return text("element ", n.index, " does not exist");
    const auto limit = [&](std::size_t size) {
      if (static_cast<std::size_t>(n.index) < size) return std::string();
      return text("element ", n.index, " of ", size, " that ", list.name, " has");
    };
    if (list.meta.is_tensor() || list.meta.is_number()) return text(list.name, " is no list");
    if (!list.meta.is_none()) return limit(list_elements(list.meta).size());
    if (list.kind != NodeKind::call) return list.kind == NodeKind::scalar ? text(list.name, " is no list") : "";
    const Schema& s = list.op->schema;
    if (s.variadic_results || list.op->returns_list()) return {};
    if (s.results.size() > 1) return limit(s.results.size());
    const Kind kind = s.results.empty() ? Kind::tensor : s.results[0].type.kind;
    return kind == Kind::any || kind == Kind::other ? "" : text(list.name, " is no list");
  }

  static std::string scalar_fault(const Node& n) {
    if (static_cast<int>(n.args.size()) != arity_of(n.function))
      return text(target_of(n.function), " takes ", arity_of(n.function), " arguments, found ", n.args.size());
    for (const Argument& a : n.args) {
      const bool open = a.is_node() && a.node()->meta.is_none();
      const Value v = a.is_node() ? a.node()->meta : a.is_value() ? a.value() : Value();
      if (!open && !(v.is_int() || v.is_float() || v.is_bool()))
        return text(target_of(n.function), " takes numbers, not ", print(a));
    }
    return {};
  }

  std::string vmap_arguments_fault(const Node& n) const {
    const std::vector<SchemaArg>& params = schema_of(n.vmap_call).args;
    const std::string_view target = target_of(n.vmap_call);
    if (n.args.size() != params.size()) return text(target, " takes ", params.size(), " arguments, found ", n.args.size());
    for (std::size_t i = 0; i < params.size(); i++) {
      const Argument& a = n.args[i];
      std::string f = argument_fault(graph_, params[i], a);
      // Numbers stand for tensors in calls of operators alone.
      const Value v = a.is_node() ? a.node()->meta : a.is_value() ? a.value() : Value();
      if (f.empty() && params[i].type.kind == Kind::tensor && v.is_number()) f = text("must be Tensor, not ", v.kind_name());
      if (!f.empty()) return text("argument '", params[i].name, "' (position ", i + 1, ") of ", target, " ", f);
    }
    return {};
  }

  std::string outputs_fault() const {
    for (const Argument& a : graph_.outputs)
      if (std::string f = operand_fault(a); !f.empty()) return f;
    if (graph_.returns != Graph::Returns::bare) return {};
    if (graph_.outputs.size() != 1) return text("a bare result is one value, found ", graph_.outputs.size());
    const Argument& a = graph_.outputs[0];
    return a.is_list() || (a.is_value() && is_list(a.value())) ? "a bare result cannot be a list" : "";
  }
};

}  // namespace

std::string argument_fault(const Graph& g, const SchemaArg& param, const Argument& a) {
  const std::string m = misfit(g, param.type, a);
  return m.empty() ? m : text("must be ", type_text(param), ", not ", m);
}

std::string find_fault(const Graph& g, GraphForm records) { return Verifier(g, records).run(); }

void verify(const Graph& g, GraphForm records) {
  const std::string fault = find_fault(g, records);
  INGOT_REQUIRE(fault.empty(), "the graph is malformed: ", fault);
}

}  // namespace ingot
