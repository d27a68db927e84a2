#include "format/pt2/sym_expression.hpp"

#include <charconv>
#include <cctype>
#include <limits>

#include "base/error.hpp"
#include "format/pt2/sym_number.hpp"
#include "io/dense.hpp"

namespace ingot {

namespace {

constexpr int kDeepestExpression = 500;
// Longer texts than any program has would only cost time: a sum grows term by term.
constexpr std::size_t kLongest = 1 << 15;

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool continues_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

class Parser {
 public:
  Parser(std::string_view text, SymScope& scope) : text_(text), scope_(scope) {}

  SymNumber all() {
    if (text_.size() > kLongest) fail(text("it is longer than ", kLongest, " characters"));
    const SymNumber n = disjunction();
    if (peek() != '\0' || at_ < text_.size()) fail("expected the end or an operator");
    return n;
  }

 private:
  std::string_view text_;
  SymScope& scope_;
  std::size_t at_ = 0;
  int depth_ = 0;

  // Every way down into the grammar passes through one of these.
  struct Level {
    explicit Level(Parser& p) : parser(p) {
      if (++p.depth_ > kDeepestExpression) p.fail(text("the expression nests deeper than ", kDeepestExpression));
    }
    ~Level() { parser.depth_--; }
    Parser& parser;
  };

  [[noreturn]] void fail(std::string_view what) const {
    constexpr std::size_t kShown = 24;
    const std::string_view rest = text_.substr(std::min(at_, text_.size()), kShown);
    throw_user_error(text("expression, position ", at_, ": ", what, ", found ", rest.empty() ? "the end" : shown_name(rest)));
  }

  char peek() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) at_++;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(std::string_view sign) {
    peek();
    if (!text_.substr(at_).starts_with(sign)) return false;
    if (starts_name(sign[0]) && at_ + sign.size() < text_.size() && continues_name(text_[at_ + sign.size()])) return false;
    at_ += sign.size();
    return true;
  }
  void expect(std::string_view sign) {
    if (!take(sign)) fail(text("expected '", sign, "'"));
  }

  SymNumber disjunction() {
    const Level level(*this);
    SymNumber n = conjunction();
    while (take("or")) n = sym_bool(n) || sym_bool(conjunction());
    return n;
  }
  SymNumber conjunction() {
    SymNumber n = negation();
    while (take("and")) n = sym_bool(n) && sym_bool(negation());
    return n;
  }
  SymNumber negation() {
    if (!take("not")) return comparison();
    const Level level(*this);
    return !sym_bool(negation());
  }

  std::string_view relation() {
    if (take("==")) return "Eq";
    if (take("!=")) return "Ne";
    if (take("<=")) return "Le";
    if (take(">=")) return "Ge";
    if (take("<")) return "Lt";
    if (take(">")) return "Gt";
    return {};
  }
  // As in Python, comparisons in a row hold when each does.
  SymNumber comparison() {
    SymNumber left = sum();
    std::string_view r = relation();
    if (r.empty()) return left;
    Expr holds(true);
    for (; !r.empty(); r = relation()) {
      const SymNumber right = sum();
      holds = holds && sym_compare(r, left, right).top;
      left = right;
    }
    return holds;
  }
  SymNumber sum() {
    SymNumber n = product();
    for (;;) {
      if (take("+")) n = sym_add(n, product());
      else if (take("-")) n = sym_subtract(n, product());
      else return n;
    }
  }
  SymNumber product() {
    SymNumber n = unary();
    for (;;) {
      if (take("//")) n = sym_floor_divide(n, unary());
      else if (take("/")) n = sym_divide(n, unary());
      else if (take("%")) n = sym_modulo(n, unary());
      else if (peek() == '*' && !text_.substr(at_).starts_with("**") && take("*")) n = sym_multiply(n, unary());
      else return n;
    }
  }
  SymNumber unary() {
    if (!take("-")) return power();
    const Level level(*this);
    if (is_digit(peek())) return power(true);
    return sym_multiply(Expr(-1), unary());
  }
  // The sign belongs to a number, so that the smallest integer can be read, and to the power, as in
  // Python.
  SymNumber power(bool negative = false) {
    const SymNumber base = negative ? number(true) : primary();
    if (!take("**")) return base;
    const Level level(*this);
    const SymNumber exponent = unary();
    if (!negative) return sym_power(base, exponent);
    return sym_multiply(Expr(-1), sym_power(sym_multiply(Expr(-1), base), exponent));
  }

  SymNumber primary() {
    const char c = peek();
    if (is_digit(c)) return number(false);
    if (take("(")) {
      const SymNumber n = disjunction();
      expect(")");
      return n;
    }
    if (!starts_name(c)) fail("expected a number, a name or '('");
    const std::string_view name = word();
    if (name == "L" && (peek() == '[')) return input();
    if (peek() == '(') return call(name);
    if (name == "true" || name == "True") return Expr(true);
    if (name == "false" || name == "False") return Expr(false);
    if (name == "oo" || name == "int_oo") return Expr(std::numeric_limits<double>::infinity());
    if (name == "nan") return Expr(std::numeric_limits<double>::quiet_NaN());
    return scope_.symbol(name);
  }

  std::string_view word() {
    peek();
    const std::size_t from = at_;
    while (at_ < text_.size() && continues_name(text_[at_])) at_++;
    if (text_.substr(from, at_ - from) == "math" && at_ < text_.size() && text_[at_] == '.') {
      at_++;
      while (at_ < text_.size() && continues_name(text_[at_])) at_++;
    }
    return text_.substr(from, at_ - from);
  }

  // Digits, with the sign before them.
  SymNumber number(bool negative) {
    const std::size_t from = at_;
    bool is_float = false;
    const auto digits = [&] {
      while (at_ < text_.size() && is_digit(text_[at_])) at_++;
    };
    digits();
    if (at_ < text_.size() && text_[at_] == '.') {
      is_float = true;
      at_++;
      digits();
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      is_float = true;
      at_++;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) at_++;
      digits();
    }
    const std::string written = (negative ? "-" : "") + std::string(text_.substr(from, at_ - from));
    return is_float ? SymNumber(Expr(real(written))) : SymNumber(Expr(integer(written)));
  }
  template <class T>
  T converted(std::string_view written, std::string_view what) const {
    T v{};
    const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), v);
    if (error != std::errc() || end != written.data() + written.size()) fail(text(shown_name(written), " is ", what));
    return v;
  }
  int64_t integer(std::string_view written) const { return converted<int64_t>(written, "no integer of 64 bits"); }
  double real(std::string_view written) const { return converted<double>(written, "no number"); }

  std::string_view quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("expected a string");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == text_.npos) fail("the string has no end");
    const std::string_view s = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return s;
  }

  SymNumber call(std::string_view name) {
    if (name == "Symbol" || name == "Dummy") return scope_.symbol(text_leaf());
    if (name == "Float") return Expr(real(text_leaf()));
    std::vector<SymNumber> args = arguments();
    if (name == "Integer" && args.size() == 1 && args[0].top.is_const()) return args[0];
    if (name == "Rational" && args.size() == 2) return sym_divide(args[0], args[1]);
    return sym_call(name, args);
  }
  // ('s77', integer=True): the text; keywords only inform.
  std::string_view text_leaf() {
    expect("(");
    const std::string_view s = quoted();
    while (take(",")) {
      word();
      expect("=");
      disjunction_or_string();
    }
    expect(")");
    return s;
  }
  void disjunction_or_string() {
    if (const char c = peek(); c == '\'' || c == '"') quoted();
    else if (!take("None")) disjunction();
  }
  std::vector<SymNumber> arguments() {
    const Level level(*this);
    std::vector<SymNumber> args;
    expect("(");
    if (take(")")) return args;
    do {
      const std::size_t before = at_;
      if (const std::string_view name = word(); !name.empty() && peek() == '=' && !text_.substr(at_).starts_with("==")) {
        expect("=");
        disjunction_or_string();
        continue;
      } else if (name == "ExprCondPair" && peek() == '(') {
        for (const SymNumber& n : arguments()) args.push_back(n);
        continue;
      }
      at_ = before;
      args.push_back(disjunction());
    } while (take(","));
    expect(")");
    return args;
  }

  // ['name'][0].size()[1]
  SymNumber input() {
    const std::size_t from = at_;
    while (peek() == '[') {
      at_++;
      if (is_digit(peek())) number(false);
      else quoted();
      expect("]");
    }
    const std::string_view path = text_.substr(from, at_ - from);
    if (!take(".")) return scope_.input_fact(path, {}, 0);
    const std::string_view fact = word();
    expect("(");
    expect(")");
    if (fact == "storage_offset") return scope_.input_fact(path, fact, 0);
    if (fact != "size" && fact != "stride") fail(text("an input has no ", shown_name(fact)));
    expect("[");
    peek();
    const std::size_t digits = at_;
    number(false);
    const int64_t dim = integer(text_.substr(digits, at_ - digits));
    expect("]");
    return scope_.input_fact(path, fact, dim);
  }
};

std::string joined(std::string_view function, std::span<const Expr> args) {
  std::string out(function);
  for (std::size_t i = 0; i < args.size(); i++) out += (i ? ", " : "(") + sym_expression_text(args[i]);
  return out + ")";
}

}  // namespace

Expr SymScope::input_fact(std::string_view path, std::string_view, int64_t) {
  throw_user_error(text("expression: it speaks of the input ", path, ", which only guards may"));
}

Expr parse_sym_expression(std::string_view text, SymScope& scope) {
  const SymNumber n = Parser(text, scope).all();
  if (n.is_real() || n.is_bool()) return n.top;
  return n.bottom.is_const(1) ? n.top : sym_real(n);
}

Expr parse_sym_int(std::string_view text, SymScope& scope) { return sym_integer(Parser(text, scope).all()); }

std::string sym_expression_text(const Expr& e) {
  switch (e.op()) {
    case ExprOp::Const:
      if (e.dtype() == DType::b8) return e->i ? "true" : "false";
      if (e.dtype() == DType::f64) return text("Float('", Float(e->f), "', precision=53)");
      return text("Integer(", e->i, ")");
    case ExprOp::Sym: {
      if (e.dtype() == DType::f64) return text("Symbol('", e->name, "')");
      const bool backed = e->name.starts_with("s");
      return text("Symbol('", e->name, "', ", backed ? "positive=True, " : "", "integer=True)");
    }
    case ExprOp::Add: return joined("Add", e.args());
    case ExprOp::Mul: return joined("Mul", e.args());
    case ExprOp::FDiv: return joined("FloatTrueDiv", e.args());
    case ExprOp::Pow: return joined("FloatPow", e.args());
    case ExprOp::Sqrt: return joined("OpaqueUnaryFn_sqrt", e.args());
    case ExprOp::Cast:
      if (e.arg(0).dtype() == DType::b8) break;
      return joined(e.dtype() == DType::f64 ? "ToFloat" : "TruncToInt", e.args());
    case ExprOp::FloorDiv: return joined("FloorDiv", e.args());
    case ExprOp::Mod: return joined("PythonMod", e.args());
    case ExprOp::Min: return joined("Min", e.args());
    case ExprOp::Max: return joined("Max", e.args());
    case ExprOp::Abs: return joined("Abs", e.args());
    case ExprOp::Sign: return joined("sign", e.args());
    case ExprOp::Lt: return joined("StrictLessThan", e.args());
    case ExprOp::Le: return joined("LessThan", e.args());
    case ExprOp::Eq: return joined("Equality", e.args());
    case ExprOp::Ne: return joined("Unequality", e.args());
    case ExprOp::And: return joined("And", e.args());
    case ExprOp::Or: return joined("Or", e.args());
    case ExprOp::Not: return joined("Not", e.args());
    case ExprOp::Select: return joined("Where", e.args());
    default: break;
  }
  throw_user_error(text("exported programs have no function for ", e));
}

}  // namespace ingot
