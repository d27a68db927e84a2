#include "format/pt2/argument.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "graph/target.hpp"
#include "format/pt2/enums.hpp"
#include "io/dense.hpp"
#include "op/fits.hpp"

namespace ingot {

namespace {

// A list of ints where the schema wants floats.
Value as_list_type_wants(Value v, const SchemaType* type) {
  if (type == nullptr || !v.is_ints() || type->kind != Kind::real || !type->is_list()) return v;
  std::vector<double> floats;
  for (const Int i : v.ints()) floats.push_back(static_cast<double>(i.value()));
  return floats;
}

constexpr std::string_view kTags[] = {"as_none",
                                      "as_tensor",
                                      "as_tensors",
                                      "as_int",
                                      "as_ints",
                                      "as_float",
                                      "as_floats",
                                      "as_string",
                                      "as_strings",
                                      "as_sym_int",
                                      "as_sym_ints",
                                      "as_scalar_type",
                                      "as_memory_format",
                                      "as_layout",
                                      "as_device",
                                      "as_bool",
                                      "as_bools",
                                      "as_sym_bool",
                                      "as_sym_bools",
                                      "as_sym_float",
                                      "as_sym_floats",
                                      "as_graph",
                                      "as_optional_tensor",
                                      "as_optional_tensors",
                                      "as_custom_obj",
                                      "as_operator",
                                      "as_complex",
                                      "as_nested_tensors",
                                      "as_int_lists",
                                      "as_string_to_argument"};

class ArgumentReader {
 public:
  ArgumentReader(const SchemaType* type, ArgumentScope& scope, SpelledArgument& spelled)
      : type_(type), scope_(scope), spelled_(spelled) {}

  Argument read(const Json& j) const {
    const auto [tag, v] = j.tagged();
    const auto* known = std::find(std::begin(kTags), std::end(kTags), tag);
    if (known == std::end(kTags)) j.fail(text("unknown kind of argument ", tag, "; the file may be of a newer format"));
    spelled_.tag = *known;
    return content(*known, v);
  }

 private:
  const SchemaType* type_;
  ArgumentScope& scope_;
  SpelledArgument& spelled_;

  Argument content(std::string_view tag, const Json& v) const {
    if (tag == "as_none") return {};
    if (tag == "as_tensor") return name(v);
    if (tag == "as_custom_obj") {
      spelled_.note = v.of("CustomObjArgument").field("class_fqn").string();
      return name(v);
    }
    if (tag == "as_int") return Value(v.integer());
    if (tag == "as_float") return Value(v.real());
    if (tag == "as_bool") return Value(v.boolean());
    if (tag == "as_string") return Value(v.string());
    if (tag == "as_operator") {
      const Op* op = find_target(v.string());
      return Value(op ? op->name : v.string());
    }
    if (tag == "as_complex") return Value(std::complex<double>(v.field("real").real(), v.field("imag").real()));
    if (tag == "as_scalar_type") return Value(dtype_of(v));
    if (tag == "as_memory_format") return Value(memory_format_of(v));
    if (tag == "as_layout") return Value(layout_of(v));
    if (tag == "as_device") {
      spelled_.note = device_text(v);
      return Value(device_of(v));
    }
    if (tag == "as_sym_int" || tag == "as_sym_float" || tag == "as_sym_bool") return symbolic(tag, v);
    if (tag == "as_optional_tensor") return optional_tensor(v);
    if (tag == "as_ints") return list(v, [](const Json& e) { return Argument(Value(e.integer())); });
    if (tag == "as_floats") return list(v, [](const Json& e) { return Argument(Value(e.real())); });
    if (tag == "as_bools") return list(v, [](const Json& e) { return Argument(Value(e.boolean())); });
    if (tag == "as_strings") return list(v, [](const Json& e) { return Argument(Value(e.string())); });
    if (tag == "as_tensors") return list(v, [&](const Json& e) { return name(e); });
    if (tag == "as_optional_tensors") return list(v, [&](const Json& e) { return optional_tensor(e); });
    if (tag == "as_sym_ints" || tag == "as_sym_floats" || tag == "as_sym_bools")
      return list(v, [&](const Json& e) { return symbolic(tag, e); });
    if (tag == "as_nested_tensors")
      return list(v, [&](const Json& e) { return list(e, [&](const Json& n) { return name(n); }); });
    if (tag == "as_int_lists")
      return list(v, [&](const Json& e) { return list(e, [](const Json& n) { return Argument(Value(n.integer())); }); });
    if (tag == "as_graph") return scope_.subgraph(v);
    return map(v);  // as_string_to_argument
  }

  Argument map(const Json& j) const {
    std::vector<Argument> values;
    for (const auto& [key, value] : j.fields()) {
      spelled_.keys.emplace_back(key);
      values.push_back(read_argument(value, nullptr, scope_, spelled_.parts.emplace_back()));
    }
    return Argument::list(std::move(values));
  }
  Argument optional_tensor(const Json& j) const {
    const auto [tag, v] = j.tagged();
    if (tag == "as_none") return {};
    if (tag != "as_tensor") j.fail(text("OptionalTensorArgument: unknown tag ", shown_name(tag)));
    return name(v);
  }
  Argument name(const Json& j) const {
    const Json n = j.of("TensorArgument").field("name");
    return scope_.value(n.string(), n);
  }
  // A value, or a constant of the kind that the union around it says.
  Argument symbolic(std::string_view kind, const Json& j) const {
    const auto [tag, v] = j.tagged();
    if (tag == "as_name") return scope_.value(v.string(), v);
    if (tag == "as_int" && kind.starts_with("as_sym_int")) return Value(v.integer());
    if (tag == "as_float" && kind.starts_with("as_sym_float")) return Value(v.real());
    if (tag == "as_bool" && kind.starts_with("as_sym_bool")) return Value(v.boolean());
    j.fail(text("symbolic argument: unknown tag ", shown_name(tag)));
  }
  template <class F>
  Argument list(const Json& j, F&& read_element) const {
    std::vector<Argument> elements = j.map(read_element);
    if (elements.empty()) return empty_list(type_);
    Argument a = Argument::list(std::move(elements));
    return a.is_value() ? Argument(as_list_type_wants(a.value(), type_)) : a;
  }
};

}  // namespace

Argument read_argument(const Json& j, const SchemaType* type, ArgumentScope& scope, SpelledArgument& spelled) {
  return ArgumentReader(type, scope, spelled).read(j);
}

bool tag_fits(const SpelledArgument& spelled, const Argument& argument, const SchemaType& type) {
  const std::string_view tag = spelled.tag;
  const auto is = [&](std::initializer_list<std::string_view> tags) {
    return std::find(tags.begin(), tags.end(), tag) != tags.end();
  };
  if (type.kind == Kind::any || type.kind == Kind::other) return tag != "as_custom_obj";
  if (tag == "as_none") return type.optional;
  if (type.is_list()) {
    const bool is_list = tag.ends_with('s');
    if (is_list && argument.is_value() && list_elements(argument.value()).empty()) return true;
    const bool repeated = type.fixed_size > 0;
    switch (type.kind) {
      case Kind::tensor: return is({"as_tensors", "as_optional_tensors"});
      case Kind::integer:
      case Kind::sym_int: return is({"as_ints", "as_sym_ints"}) || (repeated && is({"as_int", "as_sym_int"}));
      case Kind::real: return is({"as_floats", "as_ints", "as_sym_floats"}) || (repeated && is({"as_float", "as_int"}));
      case Kind::boolean:
      case Kind::sym_bool: return is({"as_bools", "as_sym_bools"});
      case Kind::string: return is({"as_strings"});
      default: return is({"as_ints", "as_floats", "as_bools", "as_sym_ints", "as_sym_floats"});  // Scalar[]
    }
  }
  switch (type.kind) {
    case Kind::tensor:
      return is({"as_tensor", "as_optional_tensor", "as_int", "as_float", "as_bool", "as_complex", "as_sym_int", "as_sym_float",
                 "as_sym_bool"});
    case Kind::scalar:
    case Kind::complex: return is({"as_int", "as_float", "as_bool", "as_complex", "as_sym_int", "as_sym_float", "as_sym_bool"});
    case Kind::integer:
    case Kind::sym_int: return is({"as_int", "as_bool", "as_sym_int"});
    case Kind::real: return is({"as_float", "as_int", "as_sym_int", "as_sym_float"});
    case Kind::boolean:
    case Kind::sym_bool: return is({"as_bool", "as_sym_bool"});
    case Kind::dtype: return is({"as_scalar_type"});
    case Kind::layout: return is({"as_layout"});
    case Kind::device: return is({"as_device"});
    case Kind::memory_format: return is({"as_memory_format"});
    case Kind::string: return is({"as_string"});
    case Kind::function: return is({"as_graph"});
    default: return false;
  }
}

std::string defined_name(const Json& j) {
  const auto [tag, v] = j.tagged();
  if (tag == "as_tensor" || tag == "as_custom_obj") return v.of("TensorArgument").field("name").string();
  if (tag == "as_sym_int" || tag == "as_sym_float" || tag == "as_sym_bool") {
    const auto [kind, value] = v.tagged();
    if (kind == "as_name") return value.string();
  }
  return {};
}

}  // namespace ingot
