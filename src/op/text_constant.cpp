#include "op/text_constant.hpp"

#include <cmath>
#include <limits>

#include "base/dtype.hpp"
#include "base/error.hpp"

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
  for (const MemoryFormat f :
       {MemoryFormat::contiguous, MemoryFormat::preserve, MemoryFormat::channels_last, MemoryFormat::channels_last_3d})
    if (to_text(f) == path) return f;
  return std::nullopt;
}

// (1-2.5j)
Value complex_number(TextCursor& in) {
  const std::size_t at = in.position();
  in.expect("(");
  const Value real = in.number(true);
  if (in.peek() != '-') in.expect("+");
  const Value imaginary = in.number();
  if (real.is_complex() || !imaginary.is_complex()) in.fail(at, "expected a complex number such as (1+2j)");
  in.expect(")");
  return std::complex<double>(real.to_double(), imaginary.to_scalar().to_complex().imag());
}

// device(type='cpu', index=0)
Value device(TextCursor& in) {
  in.expect("(");
  in.expect("type");
  in.expect("=");
  const std::size_t at = (in.peek(), in.position());
  std::string name = in.string();
  if (in.accept(",")) {
    in.expect("index");
    in.expect("=");
    name += text(":", in.number());
  }
  in.expect(")");
  try {
    return device_from_text(name);
  } catch (const UserError& e) {
    in.fail(at, e.what());
  }
}

// complex(inf, 0.0)
Value complex_call(TextCursor& in) {
  in.expect("(");
  const auto part = [&] {
    const std::size_t at = (in.peek(), in.position());
    const Value v = in.number(true);
    if (v.is_complex()) in.fail(at, "expected a real number");
    return v.to_double();
  };
  const double real = part();
  in.expect(",");
  const double imaginary = part();
  in.expect(")");
  return std::complex<double>(real, imaginary);
}

std::optional<Value> word(TextCursor& in, const std::string& path) {
  if (path == "None") return Value();
  if (path == "True" || path == "False") return Value(path == "True");
  if (path == "inf") return Value(std::numeric_limits<double>::infinity());
  if (path == "nan") return Value(std::numeric_limits<double>::quiet_NaN());
  if (path == "device") return device(in);
  if (path == "complex") return complex_call(in);
  return torch_constant(path);
}

}  // namespace

std::optional<Value> accept_constant(TextCursor& in) {
  const char c = in.peek();
  if (c == '(') return complex_number(in);
  if (c == '"' || c == '\'') return Value(in.string());
  if (c == '-' || (c >= '0' && c <= '9')) return in.number();
  const std::size_t at = in.position();
  const std::string path = in.accept_path();
  std::optional<Value> v = word(in, path);
  if (!v) in.go_to(at);
  return v;
}

std::string constant_text(const Value& v) {
  if (v.is_complex()) {
    // Python's repr of these (infj, nan+nanj) is no Python.
    const std::complex<double> c = v.to_scalar().to_complex();
    if (!std::isfinite(c.real()) || !std::isfinite(c.imag()))
      return text("complex(", to_text(Scalar(c.real())), ", ", to_text(Scalar(c.imag())), ")");
  }
  if (v.is_values()) {
    std::string out = "[";
    for (const Value& e : v.values()) out += text(out.size() == 1 ? "" : ", ", constant_text(e));
    return out += "]";
  }
  return to_text(v);
}

}  // namespace ingot
