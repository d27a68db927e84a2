#include "graph/text_argument.hpp"

#include <limits>
#include <optional>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "graph/text.hpp"
#include "op/fits.hpp"

namespace ingot {

namespace {

// torch.float32, torch.strided, torch.channels_last.
std::optional<Value> torch_constant(std::string_view path) {
  constexpr std::string_view kTorch = "torch.";
  if (!path.starts_with(kTorch)) return std::nullopt;
  for (int i = 0; i < kDTypes; i++)
    if (const auto t = static_cast<DType>(i); name_of(t) == path.substr(kTorch.size())) return t;
  for (const Layout l : {Layout::strided, Layout::sparse})
    if (to_text(Value(l)) == path) return l;
  for (const MemoryFormat f : {MemoryFormat::contiguous, MemoryFormat::preserve, MemoryFormat::channels_last,
                               MemoryFormat::channels_last_3d})
    if (to_text(f) == path) return f;
  return std::nullopt;
}

class ArgumentParser {
 public:
  ArgumentParser(TextCursor& in, TextScope& scope) : in_(in), scope_(scope) {}

  Argument read(const SchemaType* type, int depth) {
    const char c = in_.peek();
    if (c == '[') return list(type, depth);
    if (c == '(') return complex_number();
    if (c == '"' || c == '\'') return Value(in_.string());
    if (c == '-' || (c >= '0' && c <= '9')) return in_.number();
    const std::size_t at = in_.position();
    const std::string path = in_.accept_path();
    if (path.empty()) in_.expected("an argument");
    return word(path, at);
  }

 private:
  TextCursor& in_;
  TextScope& scope_;

  Argument list(const SchemaType* type, int depth) {
    if (depth >= kMaxGraphTextDepth) in_.fail(in_.position(), text("lists nest deeper than ", kMaxGraphTextDepth));
    in_.expect("[");
    const bool typed = type != nullptr && type->is_list();
    const SchemaType element = typed ? element_type(*type) : SchemaType();
    std::vector<Argument> elements;
    while (!in_.accept("]")) {
      elements.push_back(read(typed ? &element : nullptr, depth + 1));
      if (!in_.accept(",") && in_.peek() != ']') in_.expected("',' or ']'");
    }
    return elements.empty() ? Argument(empty_list(type)) : Argument::list(std::move(elements));
  }

  // (1-2.5j)
  Value complex_number() {
    const std::size_t at = in_.position();
    in_.expect("(");
    const Value real = in_.number(true);
    if (in_.peek() != '-') in_.expect("+");
    const Value imaginary = in_.number();
    if (real.is_complex() || !imaginary.is_complex()) in_.fail(at, "expected a complex number such as (1+2j)");
    in_.expect(")");
    return std::complex<double>(real.to_double(), imaginary.to_scalar().to_complex().imag());
  }

  Argument word(const std::string& path, std::size_t at) {
    if (path == "None") return {};
    if (path == "True" || path == "False") return Value(path == "True");
    if (path == "inf") return Value(std::numeric_limits<double>::infinity());
    if (path == "nan") return Value(std::numeric_limits<double>::quiet_NaN());
    if (path == "device") return device();
    if (path == "complex") return complex_call();
    if (const auto v = torch_constant(path)) return *v;
    return scope_.value(path, at);
  }

  // device(type='cpu', index=0)
  Value device() {
    in_.expect("(");
    in_.expect("type");
    in_.expect("=");
    const std::size_t at = (in_.peek(), in_.position());
    std::string name = in_.string();
    if (in_.accept(",")) {
      in_.expect("index");
      in_.expect("=");
      name += text(":", in_.number());
    }
    in_.expect(")");
    try {
      return device_from_text(name);
    } catch (const UserError& e) {
      in_.fail(at, e.what());
    }
  }

  // complex(inf, 0.0)
  Value complex_call() {
    in_.expect("(");
    const auto part = [&] {
      const std::size_t at = (in_.peek(), in_.position());
      const Value v = in_.number(true);
      if (v.is_complex()) in_.fail(at, "expected a real number");
      return v.to_double();
    };
    const double real = part();
    in_.expect(",");
    const double imaginary = part();
    in_.expect(")");
    return std::complex<double>(real, imaginary);
  }
};

}  // namespace

Argument parse_argument(TextCursor& in, const SchemaType* type, TextScope& scope) {
  return ArgumentParser(in, scope).read(type, 0);
}

}  // namespace ingot
