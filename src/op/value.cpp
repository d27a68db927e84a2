#include "ingot/value.hpp"

#include <algorithm>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "tensor/impl.hpp"

namespace ingot {

namespace {

bool same_double(double a, double b) { return Float(a).same(b); }

// Python's repr: single quotes unless the text has some and no double ones.
std::string quoted(std::string_view s) {
  const bool use_double = s.find('\'') != s.npos && s.find('"') == s.npos;
  const char quote = use_double ? '"' : '\'';
  std::string out(1, quote);
  for (const char c : s) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '\n') out += "\\n";
    else if (c == '\t') out += "\\t";
    else if (c == '\r') out += "\\r";
    else if (c == '\\' || c == quote) (out += '\\') += c;
    else if (u < 0x20 || u == 0x7f) {
      constexpr char kHex[] = "0123456789abcdef";
      ((out += "\\x") += kHex[u >> 4]) += kHex[u & 15];
    } else out += c;
  }
  return out += quote;
}

template <class List, class Text>
std::string listed(const List& list, Text text_of) {
  std::string out = "[";
  for (std::size_t i = 0; i < list.size(); i++) {
    if (i > 0) out += ", ";
    out += text_of(list[i]);
  }
  return out += "]";
}

std::string tensor_text(const Tensor& t) {
  return t.defined() ? text(short_name_of(t->dtype()), to_text(t->sizes()), to_text(t->strides())) : "None";
}

}  // namespace

Value::Value() = default;
Value::Value(const Value& o) = default;
Value::Value(Value&& o) noexcept = default;
Value& Value::operator=(const Value& o) = default;
Value& Value::operator=(Value&& o) noexcept = default;
Value::~Value() = default;

Value::Value(Int v) : v_(v) {}
Value::Value(bool v) : v_(v) {}
Value::Value(double v) : v_(Float(v)) {}
Value::Value(Float v) : v_(v) {}
Value::Value(std::complex<double> v) : v_(v) {}
Value::Value(DType t) : v_(t) {}
Value::Value(Device d) : v_(d) {}
Value::Value(Layout l) : v_(l) {}
Value::Value(MemoryFormat f) : v_(f) {}
Value::Value(const Tensor& t) {
  if (t.defined()) v_ = t;
}
Value::Value(Ref<Callable> f) {
  if (f) v_ = std::move(f);
}
void Value::set_generator(Ref<Counted> g) { v_ = std::move(g); }
Value::Value(const Scalar& s) {
  if (s.is_int()) v_ = s.to_int();
  else if (s.is_bool()) v_ = s.to_bool();
  else if (s.is_float()) v_ = s.to_float();
  else v_ = s.to_complex();
}
Value::Value(Shape s) : v_(make_ref<Box<Shape>>(std::move(s))) {}
Value::Value(TensorList l) : v_(make_ref<Box<TensorList>>(std::move(l))) {}
Value::Value(std::vector<double> l) : v_(make_ref<Box<std::vector<double>>>(std::move(l))) {}
Value::Value(std::vector<bool> l) : v_(make_ref<Box<std::vector<bool>>>(std::move(l))) {}
Value::Value(Values l) : v_(make_ref<Box<Values>>(std::move(l))) {}
Value::Value(std::string s) : v_(make_ref<Box<std::string>>(std::move(s))) {}

#define INGOT_VALUE_OF(alternative, wanted)      \
  const auto* p = std::get_if<alternative>(&v_); \
  INGOT_ENSURE(p != nullptr, "expected a value of kind ", wanted, ", found ", kind_name())

// clang-format off
const Tensor& Value::tensor() const { INGOT_VALUE_OF(Tensor, "Tensor"); return *p; }
const Shape& Value::ints() const { INGOT_VALUE_OF(Ref<Box<Shape>>, "int[]"); return (*p)->value; }
const TensorList& Value::tensors() const { INGOT_VALUE_OF(Ref<Box<TensorList>>, "Tensor[]"); return (*p)->value; }
const std::vector<double>& Value::floats() const {
  INGOT_VALUE_OF(Ref<Box<std::vector<double>>>, "float[]");
  return (*p)->value;
}
const std::vector<bool>& Value::bools() const {
  INGOT_VALUE_OF(Ref<Box<std::vector<bool>>>, "bool[]");
  return (*p)->value;
}
const Values& Value::values() const { INGOT_VALUE_OF(Ref<Box<Values>>, "Any[]"); return (*p)->value; }
const std::string& Value::string() const { INGOT_VALUE_OF(Ref<Box<std::string>>, "str"); return (*p)->value; }
DType Value::dtype() const { INGOT_VALUE_OF(DType, "ScalarType"); return *p; }
Device Value::device() const { INGOT_VALUE_OF(Device, "Device"); return *p; }
MemoryFormat Value::memory_format() const { INGOT_VALUE_OF(MemoryFormat, "MemoryFormat"); return *p; }
Layout Value::layout() const { INGOT_VALUE_OF(Layout, "Layout"); return *p; }
const Callable& Value::function() const { INGOT_VALUE_OF(Ref<Callable>, "Function"); return **p; }
Counted* Value::counted() const { INGOT_VALUE_OF(Ref<Counted>, "Generator"); return p->get(); }
// clang-format on

#undef INGOT_VALUE_OF

Int Value::to_int() const {
  if (const auto* i = std::get_if<Int>(&v_)) return *i;
  INGOT_ENSURE(is_bool(), "expected a value of kind int, found ", kind_name());
  return Int(std::get<bool>(v_) ? 1 : 0);
}

Float Value::to_float() const {
  INGOT_ENSURE(is_float() || is_int() || is_bool(), "expected a value of kind float, found ", kind_name());
  return to_scalar().to_float();
}
double Value::to_double() const { return to_float().value(); }

bool Value::to_bool() const {
  if (const auto* b = std::get_if<bool>(&v_)) return *b;
  INGOT_ENSURE(is_int(), "expected a value of kind bool, found ", kind_name());
  return !(std::get<Int>(v_) == Int(0));
}

Scalar Value::to_scalar() const {
  if (is_int()) return std::get<Int>(v_);
  if (is_float()) return std::get<Float>(v_);
  if (is_bool()) return std::get<bool>(v_);
  INGOT_ENSURE(is_complex(), "expected a number, found ", kind_name());
  return std::get<std::complex<double>>(v_);
}

bool Value::same(const Value& o) const {
  if (v_.index() != o.v_.index()) return false;
  if (is_none()) return true;
  if (is_int()) return std::get<Int>(v_).same(std::get<Int>(o.v_));
  if (is_float()) return to_float().same(o.to_float());
  if (is_bool()) return std::get<bool>(v_) == std::get<bool>(o.v_);
  if (is_complex()) {
    const auto a = std::get<std::complex<double>>(v_), b = std::get<std::complex<double>>(o.v_);
    return same_double(a.real(), b.real()) && same_double(a.imag(), b.imag());
  }
  if (is_tensor()) return tensor().is_same(o.tensor());
  if (is_dtype()) return dtype() == o.dtype();
  if (is_device()) return device() == o.device();
  if (is_layout()) return layout() == o.layout();
  if (is_memory_format()) return memory_format() == o.memory_format();
  if (is_ints()) return ints().same(o.ints());
  const auto pairwise = [](const auto& a, const auto& b, auto equal) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); i++)
      if (!equal(a[i], b[i])) return false;
    return true;
  };
  if (is_tensors()) return pairwise(tensors(), o.tensors(), [](const Tensor& a, const Tensor& b) { return a.is_same(b); });
  if (is_floats()) return pairwise(floats(), o.floats(), same_double);
  if (is_bools()) return bools() == o.bools();
  if (is_values()) return pairwise(values(), o.values(), [](const Value& a, const Value& b) { return a.same(b); });
  if (is_string()) return string() == o.string();
  if (is_function()) return std::get<Ref<Callable>>(v_) == std::get<Ref<Callable>>(o.v_);
  return std::get<Ref<Counted>>(v_) == std::get<Ref<Counted>>(o.v_);
}

std::string_view Value::kind_name() const {
  // In the order of the alternatives of v_.
  static constexpr std::string_view kNames[] = {"None",       "int",    "float",  "bool",         "complex",   "Tensor",
                                                "ScalarType", "Device", "Layout", "MemoryFormat", "int[]",     "Tensor[]",
                                                "float[]",    "bool[]", "Any[]",  "str",          "Generator", "Function"};
  static_assert(std::size(kNames) == std::variant_size_v<decltype(v_)>);
  return kNames[v_.index()];
}

Value list_value(Values elements) {
  const auto all = [&](auto is) { return std::all_of(elements.begin(), elements.end(), is); };
  if (all([](const Value& v) { return v.is_int(); })) {
    Shape ints;
    for (const Value& v : elements) ints.push_back(v.to_int());
    return ints;
  }
  if (all([](const Value& v) { return v.is_bool(); })) {
    std::vector<bool> bools;
    for (const Value& v : elements) bools.push_back(v.to_bool());
    return bools;
  }
  if (all([](const Value& v) { return v.is_tensor() || v.is_none(); })) {
    TensorList tensors;
    for (const Value& v : elements) tensors.push_back(v.tensor_or_none());
    return tensors;
  }
  if (all([](const Value& v) { return v.is_float() || v.is_int(); })) {
    std::vector<double> floats;
    for (const Value& v : elements) floats.push_back(v.to_double());
    return floats;
  }
  return elements;
}

Values list_elements(const Value& v) {
  if (v.is_values()) return v.values();
  if (v.is_tensors()) return Values(v.tensors().begin(), v.tensors().end());
  if (v.is_ints()) return Values(v.ints().begin(), v.ints().end());
  if (v.is_floats()) return Values(v.floats().begin(), v.floats().end());
  INGOT_REQUIRE(v.is_bools(), "a list was expected, found ", v.kind_name());
  Values out;
  for (const bool b : v.bools()) out.emplace_back(b);
  return out;
}

std::string to_text(const Value& v) {
  if (v.is_none()) return "None";
  if (v.is_number()) return to_text(v.to_scalar());
  if (v.is_tensor()) return tensor_text(v.tensor());
  if (v.is_ints()) return to_text(v.ints());
  if (v.is_tensors()) return listed(v.tensors(), tensor_text);
  if (v.is_floats()) return listed(v.floats(), [](double d) { return to_text(Scalar(d)); });
  if (v.is_bools()) return listed(v.bools(), [](bool b) { return to_text(b); });
  if (v.is_values()) return listed(v.values(), [](const Value& e) { return to_text(e); });
  if (v.is_string()) return quoted(v.string());
  if (v.is_dtype()) return to_text(v.dtype());
  if (v.is_layout()) return v.layout() == Layout::strided ? "torch.strided" : "torch.sparse_coo";
  if (v.is_memory_format()) return to_text(v.memory_format());
  if (v.is_generator()) return "<generator>";
  if (v.is_function()) return "<function>";
  const Device d = v.device();
  const std::string_view type = d.type == DeviceType::cpu ? "cpu" : "cuda";
  return text("device(type='", type, d.index < 0 ? "'" : text("', index=", int{d.index}), ")");
}

}  // namespace ingot
