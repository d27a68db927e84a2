#include "import/pt2_argument.hpp"

#include "base/error.hpp"
#include "import/pt2_enums.hpp"
#include "op/fits.hpp"

namespace ingot {

namespace {

// A list of ints where the schema wants floats, and of bools where it wants ints.
Value as_list_type_wants(Value v, const SchemaType* type) {
  if (type == nullptr || !v.is_ints() || type->kind != Kind::real || !type->is_list()) return v;
  std::vector<double> floats;
  for (const Int i : v.ints()) floats.push_back(static_cast<double>(i.value()));
  return floats;
}

class ArgumentReader {
 public:
  ArgumentReader(const SchemaType* type, ArgumentScope& scope) : type_(type), scope_(scope) {}

  Argument read(const Json& j) const {
    const auto [tag, v] = j.tagged();
    if (tag == "as_none") return {};
    if (tag == "as_tensor" || tag == "as_custom_obj") return name(v);
    if (tag == "as_int") return Value(v.integer());
    if (tag == "as_float") return Value(v.real());
    if (tag == "as_bool") return Value(v.boolean());
    if (tag == "as_string" || tag == "as_operator") return Value(v.string());
    if (tag == "as_complex") return Value(std::complex<double>(v.field("real").real(), v.field("imag").real()));
    if (tag == "as_scalar_type") return Value(dtype_of(v));
    if (tag == "as_memory_format") return Value(memory_format_of(v));
    if (tag == "as_layout") return Value(layout_of(v));
    if (tag == "as_device") return Value(device_of(v));
    if (tag == "as_sym_int" || tag == "as_sym_float" || tag == "as_sym_bool") return symbolic(v);
    if (tag == "as_optional_tensor") return read(v);
    if (tag == "as_ints") return list(v, [](const Json& e) { return Argument(Value(e.integer())); });
    if (tag == "as_floats") return list(v, [](const Json& e) { return Argument(Value(e.real())); });
    if (tag == "as_bools") return list(v, [](const Json& e) { return Argument(Value(e.boolean())); });
    if (tag == "as_strings") return list(v, [](const Json& e) { return Argument(Value(e.string())); });
    if (tag == "as_tensors") return list(v, [&](const Json& e) { return name(e); });
    if (tag == "as_optional_tensors") return list(v, [&](const Json& e) { return read(e); });
    if (tag == "as_sym_ints" || tag == "as_sym_floats" || tag == "as_sym_bools")
      return list(v, [&](const Json& e) { return symbolic(e); });
    if (tag == "as_nested_tensors")
      return list(v, [&](const Json& e) { return list(e, [&](const Json& n) { return name(n); }); });
    if (tag == "as_int_lists")
      return list(v, [&](const Json& e) { return list(e, [](const Json& n) { return Argument(Value(n.integer())); }); });
    if (tag == "as_graph") return scope_.subgraph(v);
    if (tag == "as_string_to_argument") return {};  // see is_opaque
    j.fail(text("unknown kind of argument ", tag, "; the file may be of a newer format"));
  }

 private:
  const SchemaType* type_;
  ArgumentScope& scope_;

  Argument name(const Json& j) const {
    const Json n = j.field("name");
    return scope_.value(n.string(), n);
  }
  Argument symbolic(const Json& j) const {
    const auto [tag, v] = j.tagged();
    if (tag == "as_name") return scope_.value(v.string(), v);
    if (tag == "as_int") return Value(v.integer());
    if (tag == "as_float") return Value(v.real());
    if (tag == "as_bool") return Value(v.boolean());
    j.fail(text("unknown kind of symbolic argument ", tag));
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

Argument read_argument(const Json& j, const SchemaType* type, ArgumentScope& scope) {
  return ArgumentReader(type, scope).read(j);
}

std::string defined_name(const Json& j) {
  const auto [tag, v] = j.tagged();
  if (tag == "as_tensor" || tag == "as_custom_obj") return v.field("name").string();
  if (tag == "as_sym_int" || tag == "as_sym_float" || tag == "as_sym_bool") {
    const auto [kind, value] = v.tagged();
    if (kind == "as_name") return value.string();
  }
  return {};
}

bool is_opaque(const Json& j) {
  const std::string_view tag = j.tagged().first;
  return tag == "as_operator" || tag == "as_custom_obj" || tag == "as_string_to_argument";
}

}  // namespace ingot
