// Defaults of schema arguments as values of the argument's type: 1, 2., True, None, [0, 1], "none",
// contiguous_format.
#include "op/schema_default.hpp"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/dtype.hpp"
#include "base/number_text.hpp"

namespace ingot {

namespace {

std::optional<DType> dtype_of_aten_code(int64_t code) {
  switch (code) {
    case 0: return DType::u8;
    case 1: return DType::i8;
    case 2: return DType::i16;
    case 3: return DType::i32;
    case 4: return DType::i64;
    case 5: return DType::f16;
    case 6: return DType::f32;
    case 7: return DType::f64;
    case 9: return DType::c64;
    case 10: return DType::c128;
    case 11: return DType::b8;
    case 15: return DType::bf16;
    case 23: return DType::f8e5m2;
    case 24: return DType::f8e4m3fn;
    case 27: return DType::u16;
    case 28: return DType::u32;
    case 29: return DType::u64;
    default: return std::nullopt;  // complex32, quantised and bit types
  }
}

struct DTypeWord {
  std::string_view word;
  DType dtype;
};
// The C names schemas may use beside the names dtype_from_name knows.
constexpr DTypeWord kDTypeWords[] = {{"byte", DType::u8},    {"char", DType::i8},     {"short", DType::i16},
                                     {"int", DType::i32},    {"long", DType::i64},    {"half", DType::f16},
                                     {"float", DType::f32},  {"double", DType::f64},  {"bool", DType::b8},
                                     {"cfloat", DType::c64}, {"cdouble", DType::c128}};

class DefaultParser {
 public:
  DefaultParser(SchemaCursor& cursor, const SchemaType& type) : in_(cursor), type_(type) {}

  Value parse() {
    if (accept_keyword("None")) {
      if (!type_.optional && type_.kind != Kind::any && type_.kind != Kind::other)
        in_.fail_at(start_of_word_, text("a value for the type ", type_.name, ", which is not optional"));
      return {};
    }
    if (!type_.is_list()) return element();
    if (type_.lists > 1) in_.fail("no default: a list of lists cannot have one");
    if (in_.peek() == '[') return list();
    if (type_.fixed_size < 1) in_.fail("'[' of a list");
    // One value stands for each of the fixed number.
    return of_elements(Values(static_cast<std::size_t>(type_.fixed_size), element()));
  }

 private:
  SchemaCursor& in_;
  const SchemaType& type_;
  std::size_t start_of_word_ = 0;

  // The word, if exactly this one is next.
  bool accept_keyword(std::string_view keyword) {
    SchemaCursor ahead = in_;
    start_of_word_ = in_.position();
    if (ahead.accept_word() != keyword) return false;
    in_ = ahead;
    return true;
  }

  Value list() {
    in_.expect("[");
    in_.skip_spaces();
    Values elements;
    if (in_.accept("]")) return of_elements(std::move(elements));
    while (true) {
      elements.push_back(type_.element_optional && accept_keyword("None") ? Value() : element());
      in_.skip_spaces();
      if (in_.accept("]")) return of_elements(std::move(elements));
      if (!in_.accept(",")) in_.fail("',' or ']' of a list");
      in_.skip_spaces();
    }
  }

  Value of_elements(Values elements) const {
    if (type_.element_optional && type_.kind != Kind::tensor) return elements;
    switch (type_.kind) {
      case Kind::integer:
      case Kind::sym_int: {
        Shape s;
        for (const Value& v : elements) s.push_back(v.to_int());
        return s;
      }
      case Kind::real: {
        std::vector<double> l;
        for (const Value& v : elements) l.push_back(v.to_double());
        return l;
      }
      case Kind::boolean:
      case Kind::sym_bool: {
        std::vector<bool> l;
        for (const Value& v : elements) l.push_back(v.to_bool());
        return l;
      }
      case Kind::tensor: return TensorList(elements.size());  // only None is possible
      default: return elements;
    }
  }

  Value element() {
    switch (type_.kind) {
      case Kind::integer:
      case Kind::sym_int: return integer();
      case Kind::real: return number(true);
      case Kind::boolean:
      case Kind::sym_bool: return boolean();
      case Kind::scalar:
      case Kind::any:
      case Kind::other: return literal();
      case Kind::complex: return std::complex<double>(number(true).to_double());
      case Kind::dtype: return dtype();
      case Kind::layout: return layout();
      case Kind::device: return device();
      case Kind::memory_format: return memory_format();
      case Kind::string: return string();
      case Kind::tensor:
      case Kind::generator:
      case Kind::storage:
      case Kind::stream:
      case Kind::dimname:
      case Kind::function: break;
    }
    in_.fail(text("None: a value of type ", type_.name, " cannot be written in a schema"));
  }

  Value literal() {
    if (in_.peek() == '"' || in_.peek() == '\'') return string();
    if (in_.at("True") || in_.at("False")) return boolean();
    return number(false);
  }

  Value boolean() {
    if (accept_keyword("True")) return true;
    if (accept_keyword("False")) return false;
    in_.fail("True or False");
  }

  Value integer() {
    // Reductions of the losses (at::Reduction) are integers with names.
    if (accept_keyword("Mean")) return 1;
    if (accept_keyword("Sum")) return 2;
    const std::size_t start = in_.position();
    const Value v = number(false);
    if (!v.is_int()) in_.fail_at(start, "an integer");
    return v;
  }

  // An integer, or a real number if it has a point or an exponent or `as_real` asks for one.
  Value number(bool as_real) {
    const std::size_t start = in_.position();
    const double sign = in_.accept("-") ? -1 : 1;
    if (accept_keyword("inf")) return sign * std::numeric_limits<double>::infinity();
    if (accept_keyword("nan")) return std::numeric_limits<double>::quiet_NaN();
    bool real = as_real;
    const auto digits = [&] {
      const std::size_t from = in_.position();
      while (SchemaCursor::is_digit(in_.peek())) in_.take();
      return in_.position() - from;
    };
    std::size_t count = digits();
    if (in_.accept(".")) {
      real = true;
      count += digits();
    }
    if (count == 0) in_.fail_at(start, "a number");
    if (in_.accept("e") || in_.accept("E")) {
      real = true;
      if (!in_.accept("-")) (void)in_.accept("+");
      if (digits() == 0) in_.fail("the digits of an exponent");
    }
    const std::string_view written = in_.since(start);
    if (real) {
      const std::optional<double> v = number_of(written);
      if (!v) in_.fail_at(start, "a number that fits a double");
      return *v;
    }
    int64_t v = 0;
    if (std::from_chars(written.data(), written.data() + written.size(), v).ec != std::errc())
      in_.fail_at(start, "an integer of 64 bits");
    return v;
  }

  Value string() {
    const std::size_t start = in_.position();
    const char quote = in_.peek();
    if (quote != '"' && quote != '\'') in_.fail("a quoted string");
    in_.take();
    std::string out;
    while (true) {
      if (in_.at_end()) in_.fail_at(start, "a string that ends with its quote");
      const char c = in_.take();
      if (c == quote) return out;
      out += c == '\\' ? escape() : c;
    }
  }

  char escape() {
    const std::size_t start = in_.position() - 1;
    if (in_.at_end()) in_.fail_at(start, "a character behind the backslash");
    const char c = in_.take();
    constexpr std::string_view kLetters = "abfnrtv\"'\\", kMeanings = "\a\b\f\n\r\t\v\"'\\";
    if (const std::size_t i = kLetters.find(c); i != kLetters.npos) return kMeanings[i];
    // Torch prints any other byte as three octal digits.
    int code = c - '0';
    for (int i = 0; i < 2 && code >= 0 && code < 8 && in_.peek() >= '0' && in_.peek() <= '7'; i++)
      code = code * 8 + (in_.take() - '0');
    if (c < '0' || c > '7' || code > 255) in_.fail_at(start, "an escape such as \\n or \\011");
    return static_cast<char>(code);
  }

  Value dtype() {
    const std::size_t start = in_.position();
    if (SchemaCursor::is_digit(in_.peek())) {
      if (const auto t = dtype_of_aten_code(integer().to_int64())) return *t;
      in_.fail_at(start, "the number of a ScalarType Ingot has");
    }
    const std::string_view word = in_.expect_word("a ScalarType");
    for (const DTypeWord& w : kDTypeWords)
      if (w.word == word) return w.dtype;
    try {
      return dtype_from_name(word);
    } catch (const UserError&) {
      in_.fail_at(start, "a ScalarType");
    }
  }

  Value layout() {
    if (accept_keyword("strided") || in_.accept("0")) return Layout::strided;
    if (accept_keyword("sparse_coo") || in_.accept("1")) return Layout::sparse;
    in_.fail("a Layout (strided or sparse_coo)");
  }

  Value device() {
    const std::size_t start = in_.position();
    const Value name = string();
    try {
      return device_from_text(name.string());
    } catch (const UserError&) {
      in_.fail_at(start, "a device");
    }
  }

  Value memory_format() {
    // Words and numbers of c10::MemoryFormat.
    if (accept_keyword("contiguous_format") || in_.accept("0")) return MemoryFormat::contiguous;
    if (accept_keyword("preserve_format") || in_.accept("1")) return MemoryFormat::preserve;
    if (accept_keyword("channels_last") || in_.accept("2")) return MemoryFormat::channels_last;
    if (accept_keyword("channels_last_3d") || in_.accept("3")) return MemoryFormat::channels_last_3d;
    in_.fail("a MemoryFormat");
  }
};

}  // namespace

Value parse_schema_default(SchemaCursor& cursor, const SchemaType& type) { return DefaultParser(cursor, type).parse(); }

}  // namespace ingot
