// Schema types, names and defaults in C++.
#include <algorithm>
#include <array>
#include <optional>

#include "base/error.hpp"
#include "generate/function.hpp"

namespace ingot::generate {
namespace {

bool is_out(const Schema& s) { return !s.args.empty() && s.args.back().keyword_only && s.args.back().type.writes(); }
bool is_inplace(const Schema& s) { return !s.args.empty() && !is_out(s) && s.args[0].type.writes() && !s.args[0].type.is_list(); }

// The word for one value of a kind; none: there is none.
std::string_view word_of(Kind k) {
  switch (k) {
    case Kind::tensor: return "Tensor";
    case Kind::integer: return "int64_t";
    case Kind::sym_int: return "Int";
    case Kind::real: return "double";
    case Kind::boolean: return "bool";
    case Kind::scalar: return "Scalar";
    case Kind::dtype: return "DType";
    case Kind::device: return "Device";
    case Kind::memory_format: return "MemoryFormat";
    case Kind::string: return "std::string";
    default: return "";
  }
}
bool is_large(Kind k) { return k == Kind::tensor || k == Kind::scalar || k == Kind::string; }
bool is_int(Kind k) { return k == Kind::integer || k == Kind::sym_int; }

std::string reference(const std::string& type) { return "const " + type + "&"; }

std::string parameter_type(const SchemaType& t) {
  const std::string word(word_of(t.kind));
  if (word.empty() || t.lists > 1) return "";
  if (t.is_list()) {
    if (t.kind == Kind::tensor) return "const TensorList&";
    if (is_int(t.kind)) return t.optional ? "const OptionalShape&" : "const Shape&";
    if (t.kind != Kind::real && t.kind != Kind::boolean && t.kind != Kind::scalar) return "";
    const std::string list = "std::vector<" + word + ">";
    return reference(t.optional ? "std::optional<" + list + ">" : list);
  }
  if (t.kind == Kind::tensor) return t.writes() ? "Tensor&" : "const Tensor&";
  if (!t.optional) return is_large(t.kind) ? reference(word) : word;
  const std::string optional = "std::optional<" + word + ">";
  return is_large(t.kind) ? reference(optional) : optional;
}

// Arguments that are not the caller's: passed as None.
bool is_dropped(const SchemaArgText& a) {
  return a.type.kind == Kind::layout || a.type.kind == Kind::generator ||
         (a.type.kind == Kind::boolean && a.name == "pin_memory");
}

std::string cpp_name(const std::string& name) {
  static constexpr std::array<std::string_view, 24> kWords = {
      "and",    "and_eq", "bitand", "bitor", "bool", "break",    "case", "char", "compl",  "continue", "default", "delete",
      "double", "float",  "for",    "int",   "not",  "operator", "or",   "new",  "switch", "register", "union",   "xor"};
  return std::find(kWords.begin(), kWords.end(), name) == kWords.end() ? name : name + "_";
}

std::optional<std::string> dtype_word(const std::string& s) {
  if (s == "4" || s == "long") return "DType::i64";
  if (s == "6" || s == "float") return "DType::f32";
  if (s == "11" || s == "bool") return "DType::b8";
  return std::nullopt;
}

// A default in C++; nothing: the parameter has none.
std::optional<std::string> default_of(const SchemaArgText& a) {
  const SchemaType& t = a.type;
  const std::string& s = a.default_text;
  if (s == "None") return "{}";
  if (t.is_list()) {
    if (s.starts_with("[")) return "{" + s.substr(1, s.size() - 2) + "}";
    if (t.fixed_size < 1 || !is_int(t.kind)) return std::nullopt;
    std::string list = s;
    for (int i = 1; i < t.fixed_size; i++) list += ", " + s;
    return "{" + list + "}";
  }
  if (s == "True") return "true";
  if (s == "False") return "false";
  if (s == "Mean") return "1";
  if (s == "Sum") return "2";
  if (t.kind == Kind::memory_format)
    return s == "preserve_format" || s == "1" ? "MemoryFormat::preserve" : "MemoryFormat::contiguous";
  if (t.kind == Kind::dtype) return dtype_word(s);
  if (t.kind == Kind::string) return s.starts_with('\'') ? "\"" + s.substr(1, s.size() - 2) + "\"" : s;
  if (s == "inf" || s == "-inf") return (s[0] == '-' ? "-" : "") + std::string("std::numeric_limits<double>::infinity()");
  return s.find_first_not_of("-+.0123456789e") == s.npos ? std::optional(s) : std::nullopt;
}

// A result of this type, and how it comes out of the Value called `value`.
struct Result {
  std::string type, expression;
};
std::optional<Result> result_of(const SchemaType& t, const std::string& value) {
  if (t.optional && t.kind != Kind::tensor) return std::nullopt;
  if (t.lists == 1) {
    if (t.kind == Kind::tensor) return Result{"TensorList", value + ".tensors()"};
    if (is_int(t.kind)) return Result{"Shape", value + ".ints()"};
    return std::nullopt;
  }
  if (t.lists > 1) return std::nullopt;
  switch (t.kind) {
    case Kind::tensor: return Result{"Tensor", value + ".tensor_or_none()"};
    case Kind::integer: return Result{"int64_t", value + ".to_int64()"};
    case Kind::sym_int: return Result{"Int", value + ".to_int()"};
    case Kind::real: return Result{"double", value + ".to_double()"};
    case Kind::boolean: return Result{"bool", value + ".to_bool()"};
    case Kind::scalar: return Result{"Scalar", value + ".to_scalar()"};
    case Kind::dtype: return Result{"DType", value + ".dtype()"};
    default: return std::nullopt;
  }
}

// Fills the result and how it is taken apart; false: a type without a word.
bool set_result(const Schema& s, Function& f) {
  if (!f.written.empty()) {
    f.result = "Tensor&";
    return true;
  }
  if (s.results.empty()) {
    f.result = "void";
    return true;
  }
  if (s.results.size() == 1) {
    const auto one = result_of(s.results[0].type, "result_");
    if (!one) return false;
    f.result = one->type;
    f.unwrap = one->expression;
    return true;
  }
  std::string types, values;
  for (std::size_t i = 0; i < s.results.size(); i++) {
    const auto one = result_of(s.results[i].type, "each_result[" + std::to_string(i) + "]");
    if (!one) return false;
    types += (i ? ", " : "") + one->type;
    values += (i ? ", " : "") + one->expression;
  }
  f.result = "std::tuple<" + types + ">";
  f.unwrap = "{" + values + "}";
  return true;
}

// What TorchScript calls for numbers, texts and lists has neither tensors nor dtypes.
bool is_of_tensors(const Schema& s) {
  const auto is_tensor = [](const SchemaArgText& a) { return a.type.kind == Kind::tensor || a.type.kind == Kind::dtype; };
  return std::any_of(s.args.begin(), s.args.end(), is_tensor) || std::any_of(s.results.begin(), s.results.end(), is_tensor);
}
bool has_named_dims(const Schema& s) {
  return std::any_of(s.args.begin(), s.args.end(), [](const SchemaArgText& a) {
    return a.type.kind == Kind::string && (a.name == "dim" || a.name == "dims" || a.name == "names" || a.name.ends_with("_dim"));
  });
}
// Functions by hand that say more than their ops: sizes stay symbolic, gradients are the tape's,
// tensor() takes what C++ has in lists.
bool is_by_hand(std::string_view name) {
  static constexpr std::array<std::string_view, 16> kNames = {
      "backward", "data",           "dim",    "grad",  "is_complex",     "is_floating_point",
      "is_leaf",  "is_contiguous",  "item",   "numel", "requires_grad_", "retain_grad",
      "size",     "storage_offset", "stride", "tensor"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

}  // namespace

Made make_function(const Schema& s) {
  if (s.ns != "aten") return {{}, "not one of ATen's"};
  if (!is_of_tensors(s)) return {{}, "no tensor or dtype among its arguments and results"};
  if (has_named_dims(s)) return {{}, "named dims"};
  if (s.variadic_args || s.variadic_results) return {{}, "any number of arguments"};
  if (s.name.starts_with("__")) return {{}, "a name that C++ keeps for itself"};
  if (s.name[0] >= 'A' && s.name[0] <= 'Z') return {{}, "a conversion of TorchScript's"};
  if (is_by_hand(s.name)) return {{}, "by hand, saying more"};

  Function f;
  f.op = s.qualified();
  f.name = cpp_name(is_out(s) ? s.name + "_out" : s.name);
  std::vector<Parameter> written_first;
  for (const SchemaArgText& a : s.args) {
    if (is_dropped(a)) {
      if (!a.type.optional) return {{}, "takes a " + a.type.name};
      f.values.emplace_back("Value()");
      continue;
    }
    Parameter p{parameter_type(a.type), cpp_name(a.name), "", false, a.keyword_only};
    if (p.type.empty()) return {{}, "no word for the type " + a.type.name + (a.type.is_list() ? "[]" : "")};
    if (a.has_default) {
      const auto text = default_of(a);
      p.has_default = text.has_value();
      p.default_text = text.value_or("");
    }
    const bool converted = p.type == "const OptionalShape&" || p.type.find("vector<Scalar>") != p.type.npos;
    f.values.push_back(converted ? "value_of(" + p.name + ")" : p.name);
    if (is_out(s) && a.keyword_only && a.type.writes()) written_first.push_back(p);
    else f.parameters.push_back(p);
  }
  if (is_inplace(s)) f.written = f.parameters[0].name;
  else if (written_first.size() == 1 && written_first[0].type == "Tensor&") f.written = written_first[0].name;
  f.parameters.insert(f.parameters.begin(), written_first.begin(), written_first.end());
  // A default before an argument that must be given is none.
  for (std::size_t i = 0; i < f.required(); i++) f.parameters[i].has_default = false;
  if (!set_result(s, f)) return {{}, "no word for the type of its result"};
  return {f, ""};
}

bool has_method(const Schema& s, const Function& f) {
  return !is_out(s) && !f.parameters.empty() && s.args[0].name == "self" && s.args[0].type.kind == Kind::tensor &&
         !s.args[0].type.is_list() && !s.args[0].type.optional && !s.name.starts_with("_") &&
         s.name.find("_backward") == s.name.npos;
}

Function make_method(Function f) {
  f.is_method = true;
  f.parameters.erase(f.parameters.begin());
  return f;
}

}  // namespace ingot::generate
