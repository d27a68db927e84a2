#include "op/fits.hpp"

namespace ingot {

bool fits(const SchemaType& t, const Value& v) {
  if (v.is_none()) return t.optional || t.kind == Kind::other || t.kind == Kind::any;
  if (t.is_list()) {
    switch (t.kind) {
      case Kind::tensor: return v.is_tensors() || (v.is_ints() && v.ints().empty());
      case Kind::integer:
      case Kind::sym_int: return v.is_ints() || (v.is_tensors() && v.tensors().empty());
      case Kind::real: return v.is_floats() || v.is_ints();
      case Kind::boolean: return v.is_bools();
      default: return v.is_values() || v.is_floats() || v.is_ints() || v.is_bools();
    }
  }
  switch (t.kind) {
    case Kind::tensor: return v.is_tensor() || v.is_number();
    case Kind::integer:
    case Kind::sym_int: return v.is_int() || v.is_bool();
    case Kind::real: return v.is_float() || v.is_int() || v.is_bool();
    case Kind::boolean:
    case Kind::sym_bool: return v.is_bool() || v.is_int();
    case Kind::scalar:
    case Kind::complex: return v.is_number();
    case Kind::dtype: return v.is_dtype();
    case Kind::layout: return v.is_layout();
    case Kind::device: return v.is_device();
    case Kind::memory_format: return v.is_memory_format();
    case Kind::string: return v.is_string();
    case Kind::generator: return v.is_generator();
    case Kind::function: return v.is_function();
    default: return true;
  }
}

bool widens(const SchemaType& t, const Value& v) {
  if (t.lists != 1) return false;
  if (t.kind == Kind::real) return v.is_float() || v.is_int() || v.is_bool();
  return (t.kind == Kind::integer || t.kind == Kind::sym_int) && v.is_int();
}

SchemaType element_type(const SchemaType& list) {
  SchemaType t = list;
  t.lists--;
  t.optional = list.lists == 1 && list.element_optional;
  t.element_optional = list.lists > 1 && list.element_optional;
  t.fixed_size = -1;
  return t;
}

Value empty_list(const SchemaType* type) {
  switch (type ? type->kind : Kind::integer) {
    case Kind::tensor: return TensorList();
    case Kind::real: return std::vector<double>();
    case Kind::boolean:
    case Kind::sym_bool: return std::vector<bool>();
    case Kind::integer:
    case Kind::sym_int: return Shape();
    default: return Values();
  }
}

std::string type_text(SchemaArg a) {
  a.keyword_only = a.has_default = false;
  Schema s;
  s.args = {std::move(a)};
  // "::(int[2] x) -> ()" -> "int[2]"
  const std::string text = to_text(s);
  const auto open = text.find('('), end = text.rfind(" " + s.args[0].name);
  return text.substr(open + 1, end - open - 1);
}

}  // namespace ingot
