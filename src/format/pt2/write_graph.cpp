#include "format/pt2/write_graph.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "graph/target.hpp"
#include "format/pt2/argument.hpp"
#include "format/pt2/enums.hpp"
#include "op/applied.hpp"
#include "tensor/impl.hpp"

namespace ingot {

namespace {

using Map = SpelledValue::Map;

// An operator given as an argument: its name where Ingot knows it, else the target as the file had
// it.
std::string operator_target(const std::string& name) {
  const Op* op = find_op(name);
  return op ? target_of(*op) : name;
}

void write_device(JsonWriter& out, std::string_view text) {
  const std::size_t colon = text.find(':');
  out.begin_object().key("type").value(text.substr(0, colon)).key("index");
  if (colon == text.npos) out.null();
  else out.raw(text.substr(colon + 1));
  out.end();
}

void write_hint(JsonWriter& out, const Value& hint) {
  out.key("hint");
  if (hint.is_none()) out.null();
  else write_literal(out, hint);
}

// A number that may be an expression: its text stands as long as it says what the number is.
void write_sym_int(JsonWriter& out, Int v, const SpelledNumber* spelled) {
  out.begin_object();
  if (spelled && !spelled->expression.empty()) {
    out.key("as_expr").begin_object().key("expr_str").value(spelled->expression);
    write_hint(out, spelled->hint);
    out.end();
  } else if (v.is_symbolic()) {
    out.key("as_expr").begin_object().key("expr_str").value(sym_expression_text(v.expr()));
    write_hint(out, {});
    out.end();
  } else {
    out.key("as_int").value(v.number());
  }
  out.end();
}

void write_name(JsonWriter& out, const std::string& name) { out.begin_object().key("name").value(name).end(); }

std::string_view tag_of(const Value& v) {
  if (v.is_none()) return "as_none";
  if (v.is_int()) return "as_int";
  if (v.is_float()) return "as_float";
  if (v.is_bool()) return "as_bool";
  if (v.is_string()) return "as_string";
  if (v.is_complex()) return "as_complex";
  if (v.is_dtype()) return "as_scalar_type";
  if (v.is_device()) return "as_device";
  if (v.is_layout()) return "as_layout";
  if (v.is_memory_format()) return "as_memory_format";
  if (v.is_ints()) return "as_ints";
  if (v.is_floats()) return "as_floats";
  if (v.is_bools()) return "as_bools";
  if (v.is_tensors() && v.tensors().empty()) return "as_tensors";
  if (v.is_values() && v.values().empty()) return "as_tensors";
  if (v.is_values() && std::all_of(v.values().begin(), v.values().end(), [](const Value& e) { return e.is_string(); }))
    return "as_strings";
  throw_user_error(text("exported programs cannot hold a constant of type ", v.kind_name()));
}

}  // namespace

void write_literal(JsonWriter& out, const Value& v) {
  const std::string_view tag = tag_of(v);
  out.begin_object().key(tag);
  if (v.is_none()) out.value(true);
  else if (v.is_int()) out.value(v.to_int64());
  else if (v.is_float()) out.value(v.to_double());
  else if (v.is_bool()) out.value(v.to_bool());
  else if (v.is_string()) out.value(v.string());
  else throw_user_error(text("a literal cannot be ", v.kind_name()));
  out.end();
}

const std::string& GraphWriter::name_of(const Node* n) const {
  if (const auto first = repeated_.find(n); first != repeated_.end()) n = first->second;
  const auto it = spelled_.values.find(n);
  return it == spelled_.values.end() ? n->name : it->second.name;
}

Map GraphWriter::map_of(const Node& n) const {
  if (const auto it = spelled_.values.find(&n); it != spelled_.values.end() && it->second.map != Map::none) return it->second.map;
  if (n.meta.is_tensor()) return Map::tensor;
  if (n.meta.is_int()) return Map::integer;
  if (n.meta.is_float()) return Map::real;
  return n.meta.is_bool() ? Map::boolean : Map::none;
}

void GraphWriter::write() {
  for (const auto& n : graph_.nodes()) {
    if (n->kind != NodeKind::item || !n->args[0].is_node() || n->index < 0 || spelled_.nodes.contains(n.get())) continue;
    const auto [it, is_new] = items_[n->args[0].node()].emplace(static_cast<std::size_t>(n->index), n.get());
    if (!is_new) repeated_.emplace(n.get(), it->second);
  }
  out_.begin_object();
  inputs();
  outputs();
  out_.key("nodes").begin_list();
  for (const auto& n : graph_.nodes()) {
    const bool is_value_of_node = n->kind == NodeKind::item && !spelled_.nodes.contains(n.get());
    if (n->kind != NodeKind::placeholder && n->kind != NodeKind::attribute && !is_value_of_node) node(*n);
  }
  out_.end();
  values();
  out_.key("is_single_tensor_return").value(graph_.returns == Graph::Returns::bare);
  out_.end();
}

void GraphWriter::inputs() {
  out_.key("inputs").begin_list();
  if (!spelled_.inputs.empty())
    for (const auto& [spelled, a] : spelled_.inputs) argument(a, &spelled);
  else
    for (Node* n : graph_.inputs()) argument(n, nullptr);
  out_.end();
}

void GraphWriter::outputs() {
  out_.key("outputs").begin_list();
  for (std::size_t i = 0; i < graph_.outputs.size(); i++)
    argument(graph_.outputs[i], i < spelled_.outputs.size() ? &spelled_.outputs[i] : nullptr);
  out_.end();
}

void GraphWriter::node(const Node& n) {
  const auto it = spelled_.nodes.find(&n);
  const SpelledNode* s = it == spelled_.nodes.end() ? nullptr : &it->second;
  INGOT_REQUIRE(n.kind != NodeKind::grad_mode, "exported programs have no node for ", n.name,
                "; regions that set the grad mode are "
                "wrap_with_set_grad_enabled");
  const bool is_higher_order = n.op != nullptr && n.op->form() == Form::higher_order;
  std::string target = n.kind == NodeKind::scalar ? std::string(target_of(n.function))
                       : n.kind == NodeKind::vmap ? std::string(target_of(n.vmap_call))
                       : n.kind == NodeKind::call ? target_of(*n.op)
                       : n.kind == NodeKind::item ? "_operator.getitem"
                                                  : n.target;
  if (s && !s->target.empty()) target = s->target;
  out_.begin_object().key("target").value(target);
  node_inputs(n, s);
  node_outputs(n, s);
  metadata(n, s);
  out_.key("is_hop_single_tensor_return");
  if (s && s->single_return) out_.value(*s->single_return);
  else if (!s && is_higher_order) out_.value(false);
  else out_.null();
  out_.key("name");
  if (s && !s->is_named) out_.null();
  else out_.value(s && !s->name.empty() ? s->name : n.name);
  out_.end();
}

void GraphWriter::node_inputs(const Node& n, const SpelledNode* s) {
  constexpr int kPositional = 1, kKeyword = 2;
  out_.key("inputs").begin_list();
  const auto input = [&](std::string_view name, const Argument& a, const SpelledArgument* spelled, std::optional<int64_t> kind) {
    out_.begin_object().key("name").value(name).key("arg");
    argument(a, spelled);
    out_.key("kind");
    if (kind) out_.value(*kind);
    else out_.null();
    out_.end();
  };
  if (s) {
    for (const SpelledInput& i : s->inputs)
      input(i.name, i.at < 0 ? i.value : n.args[static_cast<std::size_t>(i.at)], &i.argument, i.kind);
  } else if (n.kind == NodeKind::call && n.op->form() != Form::higher_order) {
    for (std::size_t i = 0; i < n.args.size(); i++) {
      const SchemaArg& param = n.op->schema.args[i];
      if (param.has_default && n.args[i].is_value() && n.args[i].value().same(param.default_value)) continue;
      input(param.name, n.args[i], nullptr, param.keyword_only ? kKeyword : kPositional);
    }
  } else if (n.kind == NodeKind::call && applies_another(*n.op)) {
    SpelledArgument as_operator;
    as_operator.tag = "as_operator";
    const int keywords = keywords_argument(*n.op);
    const Values names = keywords < 0 ? Values() : list_elements(n.args[static_cast<std::size_t>(keywords)].value());
    const std::size_t own = n.op->schema.args.size();
    for (std::size_t i = 0; i < n.args.size(); i++) {
      if (static_cast<int>(i) == keywords) continue;
      const bool is_named = i >= own && i - own < names.size();
      input(is_named ? names[i - own].string() : "", n.args[i],
            static_cast<int>(i) == operator_argument(*n.op) ? &as_operator : nullptr, is_named ? kKeyword : kPositional);
    }
  } else {
    const bool is_scalar = n.kind == NodeKind::scalar;
    for (std::size_t i = 0; i < n.args.size(); i++)
      input(is_scalar ? std::string(1, static_cast<char>('a' + i)) : "", n.args[i], nullptr, kPositional);
  }
  out_.end();
}

void GraphWriter::node_outputs(const Node& n, const SpelledNode* s) {
  out_.key("outputs").begin_list();
  if (s) spelled_outputs(*s);
  else unspelled_outputs(n);
  out_.end();
}

void GraphWriter::single_output(std::string_view tag, const Node* value) {
  out_.begin_object().key(tag);
  const bool is_symbolic = tag.starts_with("as_sym_");
  if (is_symbolic) out_.begin_object().key("as_name").value(name_of(value)).end();
  else write_name(out_, name_of(value));
  out_.end();
}

void GraphWriter::spelled_outputs(const SpelledNode& s) {
  for (const SpelledOutput& o : s.outputs) {
    if (o.tag == "as_tensors") {
      out_.begin_object().key("as_tensors").begin_list();
      for (const Node* m : o.values) write_name(out_, name_of(m));
      out_.end().end();
    } else if (o.tag == "as_none") {
      write_literal(out_, {});
    } else {
      single_output(o.tag, o.values[0]);
    }
  }
}

// Every result has a name in a file, also one that no node of the graph takes.
void GraphWriter::unspelled_outputs(const Node& n) {
  const auto it = items_.find(&n);
  static const std::map<std::size_t, const Node*> kNone;
  const auto& items = it == items_.end() ? kNone : it->second;
  const bool is_higher_order = n.op != nullptr && n.op->form() == Form::higher_order;
  const bool is_list = n.op != nullptr && n.op->returns_list() && !is_higher_order;
  const bool has_several = n.op != nullptr && !is_higher_order && n.op->schema.results.size() > 1;
  if (items.empty() && !is_list && !has_several) {
    if (n.kind == NodeKind::vmap && schema_of(n.vmap_call).results.empty()) return write_literal(out_, {});
    if (n.op == nullptr || !n.op->schema.results.empty()) single_output(usual_tag(Argument(const_cast<Node*>(&n))), &n);
    return;
  }
  std::size_t count = items.empty() ? 0 : items.rbegin()->first + 1;
  if (n.meta.is_tensors()) count = std::max(count, n.meta.tensors().size());
  if (has_several) count = n.op->schema.results.size();
  const auto meta_of = [&](std::size_t i) {
    return n.meta.is_tensors() && i < n.meta.tensors().size() ? n.meta.tensors()[i] : Tensor();
  };
  const auto unused_name = [&](std::size_t i) {
    unused_.emplace_back(text(name_of(&n), "_unused_", i), meta_of(i));
    return unused_.back().first;
  };
  if (is_list) out_.begin_object().key("as_tensors").begin_list();
  for (std::size_t i = 0; i < count; i++) {
    const auto item = items.find(i);
    const bool is_none = n.meta.is_tensors() && !meta_of(i).defined();
    if (is_list) write_name(out_, item == items.end() ? unused_name(i) : name_of(item->second));
    else if (is_none) write_literal(out_, {});
    else if (item != items.end()) single_output(usual_tag(Argument(const_cast<Node*>(item->second))), item->second);
    else {
      out_.begin_object().key("as_tensor");
      write_name(out_, unused_name(i));
      out_.end();
    }
  }
  if (is_list) out_.end().end();
}

void GraphWriter::metadata(const Node& n, const SpelledNode* s) {
  out_.key("metadata").begin_object();
  if (s ? s->has_stack_trace : !n.stack_trace.empty()) out_.key("stack_trace").value(n.stack_trace);
  if (s)
    for (const auto& [key, value] : s->metadata) out_.key(key).value(value);
  out_.end();
}

// ---- values

template <class F>
void GraphWriter::value_map(std::string_view key, Map map, F&& write_entry) {
  out_.key(key).begin_object();
  for (const auto& n : graph_.nodes()) {
    if (map_of(*n) != map || repeated_.contains(n.get())) continue;
    const auto it = spelled_.values.find(n.get());
    const SpelledValue* s = it == spelled_.values.end() ? nullptr : &it->second;
    out_.key(name_of(n.get()));
    write_entry(*n, s);
  }
  if (map == Map::tensor)
    for (const auto& [name, meta] : unused_) {
      if (!meta.defined()) continue;
      out_.key(name);
      tensor_meta(meta, nullptr);
    }
  out_.end();
}

void GraphWriter::values() {
  const auto scalar = [&](std::string_view plain_tag) {
    return [&, plain_tag](const Node& n, const SpelledValue* s) {
      const bool is_expression = s && !s->numbers.empty() && !s->numbers[0].expression.empty();
      out_.begin_object();
      if (is_expression) {
        out_.key("as_expr").begin_object().key("expr_str").value(s->numbers[0].expression);
        write_hint(out_, s->numbers[0].hint);
        out_.end();
      } else if (plain_tag == "as_float" && n.meta.to_float().is_symbolic()) {
        out_.key("as_expr").begin_object().key("expr_str").value(sym_expression_text(n.meta.to_float().expr()));
        write_hint(out_, {});
        out_.end();
      } else if (plain_tag == "as_float") {
        out_.key(plain_tag).value(n.meta.to_double());
      } else {
        out_.key(plain_tag).value(n.meta.to_bool());
      }
      out_.end();
    };
  };
  value_map("tensor_values", Map::tensor, [&](const Node& n, const SpelledValue* s) { tensor_meta(n.meta.tensor(), s); });
  value_map("sym_int_values", Map::integer, [&](const Node& n, const SpelledValue* s) {
    write_sym_int(out_, n.meta.to_int(), s && !s->numbers.empty() ? &s->numbers[0] : nullptr);
  });
  value_map("sym_bool_values", Map::boolean, scalar("as_bool"));
  value_map("sym_float_values", Map::real, scalar("as_float"));
  value_map("custom_obj_values", Map::object, [&](const Node& n, const SpelledValue* s) {
    out_.begin_object().key("name").value(name_of(&n)).key("class_fqn").value(s->note).end();
  });
}

void GraphWriter::tensor_meta(const Tensor& t, const SpelledValue* s) {
  const SpelledNumber* numbers = s && !s->numbers.empty() ? s->numbers.data() : nullptr;
  const auto list = [&](std::string_view key, const Shape& shape) {
    out_.key(key).begin_list();
    for (const Int v : shape) write_sym_int(out_, v, numbers ? numbers++ : nullptr);
    out_.end();
  };
  out_.begin_object().key("dtype").value(schema_number(t.dtype()));
  list("sizes", t.sizes());
  out_.key("requires_grad").value(s && s->requires_grad).key("device");
  write_device(out_, s ? s->note : "cpu");
  list("strides", t.strides());
  out_.key("storage_offset");
  write_sym_int(out_, t.storage_offset(), numbers);
  out_.key("layout").value(kStridedLayout).end();
}

// ---- arguments

void GraphWriter::named(const Node* n) { write_name(out_, name_of(n)); }

void GraphWriter::symbolic(std::string_view tag, const Argument& a) {
  out_.begin_object();
  if (a.is_node()) out_.key("as_name").value(name_of(a.node()));
  else if (tag.starts_with("as_sym_int")) out_.key("as_int").value(a.value().to_int64());
  else if (tag.starts_with("as_sym_float")) out_.key("as_float").value(a.value().to_double());
  else out_.key("as_bool").value(a.value().to_bool());
  out_.end();
}

template <class F>
void GraphWriter::each(const Argument& list, F&& write_element) {
  out_.begin_list();
  if (list.is_list()) {
    for (const Argument& e : list.elements()) write_element(e);
  } else {
    for (const Value& v : list_elements(list.value())) write_element(Argument(v));
  }
  out_.end();
}

std::string_view GraphWriter::usual_tag(const Argument& a) const {
  const auto of_node = [&](const Node* n) -> std::string_view {
    if (n->kind == NodeKind::attribute) return "as_graph";
    switch (map_of(*n)) {
      case Map::integer: return "as_sym_int";
      case Map::real: return "as_sym_float";
      case Map::boolean: return "as_sym_bool";
      case Map::object: return "as_custom_obj";
      default: return "as_tensor";
    }
  };
  if (a.is_node()) return of_node(a.node());
  if (a.is_value()) return tag_of(a.value());
  bool any_none = false, any_other = false, all_tensors = true, all_ints = true;
  for (const Argument& e : a.elements()) {
    const bool is_graph = e.is_node() && of_node(e.node()) == "as_graph";
    any_other |= is_graph || e.is_list() || (e.is_value() && !e.is_none());
    any_none |= e.is_none();
    all_tensors &= e.is_none() || (e.is_node() && of_node(e.node()) == "as_tensor");
    all_ints &= (e.is_value() && e.value().is_int()) || (e.is_node() && of_node(e.node()) == "as_sym_int");
  }
  if (all_ints) return "as_sym_ints";
  INGOT_REQUIRE(!any_other,
                "exported programs have no list of values together with constants, lists or functions, as flex_attention takes "
                "one; PyTorch has no file for such programs either");
  return all_tensors && any_none ? "as_optional_tensors" : "as_tensors";  // mixed operands are written as names
}

void GraphWriter::argument(const Argument& a, const SpelledArgument* spelled) {
  const std::string_view tag = spelled ? spelled->tag : usual_tag(a);
  out_.begin_object().key(tag);
  content(tag, a, spelled);
  out_.end();
}

void GraphWriter::content(std::string_view tag, const Argument& a, const SpelledArgument* spelled) {
  const auto optional_tensor = [&](const Argument& e) {
    out_.begin_object();
    if (e.is_node()) {
      out_.key("as_tensor");
      named(e.node());
    } else {
      out_.key("as_none").value(true);
    }
    out_.end();
  };
  const auto integer = [&](const Argument& e) {
    out_.value(e.value().is_float() ? static_cast<int64_t>(e.value().to_double()) : e.value().to_int64());
  };
  const auto name = [&](const Argument& e) { named(e.node()); };
  if (tag == "as_none") out_.value(true);
  else if (tag == "as_tensor") named(a.node());
  else if (tag == "as_custom_obj")
    out_.begin_object().key("name").value(name_of(a.node())).key("class_fqn").value(spelled ? spelled->note : "").end();
  else if (tag == "as_int") integer(a);
  else if (tag == "as_float") out_.value(a.value().to_double());
  else if (tag == "as_bool") out_.value(a.value().to_bool());
  else if (tag == "as_string") out_.value(a.value().string());
  else if (tag == "as_operator") out_.value(operator_target(a.value().string()));
  else if (tag == "as_complex") {
    const std::complex<double> v = a.value().to_scalar().to_complex();
    out_.begin_object().key("real").value(v.real()).key("imag").value(v.imag()).end();
  } else if (tag == "as_scalar_type") out_.value(schema_number(a.value().dtype()));
  else if (tag == "as_memory_format") out_.value(schema_number(a.value().memory_format()));
  else if (tag == "as_layout") out_.value(kStridedLayout);
  else if (tag == "as_device") write_device(out_, spelled ? spelled->note : "cpu");
  else if (tag == "as_sym_int" || tag == "as_sym_float" || tag == "as_sym_bool") symbolic(tag, a);
  else if (tag == "as_optional_tensor") optional_tensor(a);
  else if (tag == "as_ints") each(a, integer);
  else if (tag == "as_floats") each(a, [&](const Argument& e) { out_.value(e.value().to_double()); });
  else if (tag == "as_bools") each(a, [&](const Argument& e) { out_.value(e.value().to_bool()); });
  else if (tag == "as_strings") each(a, [&](const Argument& e) { out_.value(e.value().string()); });
  else if (tag == "as_tensors") each(a, name);
  else if (tag == "as_optional_tensors") each(a, optional_tensor);
  else if (tag == "as_sym_ints" || tag == "as_sym_floats" || tag == "as_sym_bools")
    each(a, [&](const Argument& e) { symbolic(tag, e); });
  else if (tag == "as_nested_tensors") each(a, [&](const Argument& e) { each(e, name); });
  else if (tag == "as_int_lists") each(a, [&](const Argument& e) { each(e, integer); });
  else if (tag == "as_graph") {
    const std::string& key = a.node()->target;
    const auto& inner = std::get<std::shared_ptr<const Graph>>(*graph_.find_attribute(key));
    static const SpelledGraph kNone;
    const auto it = spelled_.subgraphs.find(key);
    out_.begin_object().key("name").value(key).key("graph");
    GraphWriter(*inner, it == spelled_.subgraphs.end() ? kNone : it->second, out_).write();
    out_.end();
  } else {
    INGOT_ENSURE(tag == "as_string_to_argument" && spelled, "no way to write ", tag);
    out_.begin_object();
    const std::vector<Argument> values = a.is_list() ? a.elements() : std::vector<Argument>();
    const Values constants = a.is_list() ? Values() : list_elements(a.value());
    for (std::size_t i = 0; i < spelled->keys.size(); i++) {
      out_.key(spelled->keys[i]);
      argument(a.is_list() ? values[i] : Argument(constants[i]), &spelled->parts[i]);
    }
    out_.end();
  }
}

}  // namespace ingot
