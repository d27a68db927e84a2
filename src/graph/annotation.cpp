#include "graph/annotation.hpp"

#include <algorithm>
#include <charconv>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "tensor/impl.hpp"

namespace ingot {

namespace {

constexpr int kMaxDims = 64;
// Sizes are polynomials, and strides their products: what few characters say can be an expression
// of any size. This bounds the terms of the product of all sizes.
constexpr double kMaxTerms = 4096;
constexpr std::size_t kMaxCharacters = 1024;

bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) { return starts_name(c) || (c >= '0' && c <= '9') || c == '.'; }

class AnnotationParser {
 public:
  AnnotationParser(std::string_view text, Names& symbols) : text_(text), symbols_(symbols) {}

  Value parse() {
    INGOT_REQUIRE(text_.size() <= kMaxCharacters, "the annotation is longer than ", kMaxCharacters, " characters");
    if (text_.starts_with("Sym(") && text_.ends_with(')')) {
      const Expr e = number(text_.substr(4, text_.size() - 5));
      return e.dtype() == DType::f64 ? Value(Float(e)) : Value(whole(e));
    }
    const std::size_t open = text_.find('[');
    INGOT_REQUIRE(open != text_.npos, "expected a type such as f32[2, 3] or Sym(s0), found '", text_, "'");
    Geometry g;
    g.dtype = dtype_from_name(text_.substr(0, open));
    text_.remove_prefix(open);
    g.sizes = integers();
    for (const Int s : g.sizes) INGOT_REQUIRE(s.is_symbolic() || s.number() >= 0, "the size ", s, " is negative");
    if (text_.starts_with('[')) {
      g.strides = integers();
      INGOT_REQUIRE(g.strides.size() == g.sizes.size(), g.sizes.size(), " sizes, and ", g.strides.size(), " strides");
    } else {
      g.strides = Geometry::contiguous(g.sizes, g.dtype).strides;
    }
    return make_tensor(std::move(g), text_.empty() ? Device() : device_from_text(text_), true);
  }

 private:
  std::string_view text_;
  Names& symbols_;
  double terms_ = 1;

  // "[2, s0]"; takes it off the text.
  Shape integers() {
    const std::size_t close = text_.find(']');
    INGOT_REQUIRE(close != text_.npos, "expected ']' in '", text_, "'");
    std::string_view list = text_.substr(1, close - 1);
    text_.remove_prefix(close + 1);
    Shape out;
    if (list.find_first_not_of(' ') == list.npos) return out;
    int depth = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= list.size(); i++) {
      const char c = i < list.size() ? list[i] : ',';
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      if (c != ',' || (depth != 0 && i < list.size())) continue;
      out.push_back(integer(list.substr(begin, i - begin)));
      INGOT_REQUIRE(out.dim() <= kMaxDims, "more than ", kMaxDims, " dims");
      begin = i + 1;
    }
    return out;
  }

  static Int whole(const Expr& e) {
    INGOT_REQUIRE(e.dtype() == DType::i64, "the size ", e, " is no integer");
    return Int(e);
  }
  Int integer(std::string_view s) { return whole(number(s)); }

  Expr number(std::string_view s) {
    s.remove_prefix(std::min(s.find_first_not_of(' '), s.size()));
    int64_t v = 0;
    const char* const s_end = s.data() + s.size();
    if (const auto [end, error] = std::from_chars(s.data(), s_end, v); error == std::errc() && end == s_end) return v;
    bound_terms(s);
    add_symbols(s);
    return ingot::parse(s, symbols_);
  }

  // Every product may spread every sum under it.
  void bound_terms(std::string_view s) {
    const auto count = [&](char c) { return std::count(s.begin(), s.end(), c); };
    const auto sums = static_cast<double>(1 + count('+') + count('-'));
    for (auto products = count('*'); products >= 0 && terms_ <= kMaxTerms; products--) terms_ *= sums;
    INGOT_REQUIRE(terms_ <= kMaxTerms, "the sizes are too long an expression");
  }

  void add_symbols(std::string_view s) {
    for (std::size_t i = 0; i < s.size();) {
      if (!starts_name(s[i])) {
        i++;
        continue;
      }
      std::size_t end = i;
      while (end < s.size() && continues_name(s[end])) end++;
      const std::string_view name = s.substr(i, end - i);
      i = end;
      constexpr std::string_view kWords[] = {"and", "or", "not", "true", "false", "inf", "nan"};
      const bool word = std::find(std::begin(kWords), std::end(kWords), name) != std::end(kWords);
      if (word || (i < s.size() && s[i] == '(') || symbols_.find(name)) continue;
      const auto is_numbered = [&](std::string_view start) {
        return name.starts_with(start) && name.size() > start.size() &&
               name.find_first_not_of("0123456789", start.size()) == name.npos;
      };
      symbols_.add(is_numbered("zuf") || is_numbered("zf") ? Expr::float_symbol(name)
                                                           : Expr::symbol(name, is_numbered("u") ? 0 : 2));
    }
  }
};

}  // namespace

Value parse_annotation(std::string_view text, Names& symbols) { return AnnotationParser(text, symbols).parse(); }

Role role_of_name(std::string_view name) { return name.starts_with(kTangents) ? Role::tangent : Role::value; }

Role told_by_fx(Role role) { return role == Role::tangent ? role : Role::value; }

std::string_view word_of(Role role) {
  constexpr std::string_view kWords[] = {"value", "tangent", "saved", "gradient"};
  static_assert(std::size(kWords) == static_cast<std::size_t>(Role::gradient) + 1);
  return kWords[static_cast<std::size_t>(role)];
}

std::optional<Role> take_role(std::string_view& annotation, bool of_input) {
  const std::string_view first = annotation.substr(0, annotation.find(' '));
  for (const Role role : {Role::value, Role::tangent, Role::saved, Role::gradient}) {
    if (first != word_of(role) || !(of_input ? is_of_input(role) : is_of_result(role) && role != Role::value)) continue;
    annotation.remove_prefix(std::min(first.size() + 1, annotation.size()));
    return role;
  }
  return std::nullopt;
}

}  // namespace ingot
