#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <utility>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "expr/build.hpp"
#include "expr/op_info.hpp"
#include "expr/precedence.hpp"
#include "expr/scalar.hpp"
#include "expr/text.hpp"

namespace ingot {
namespace {

using enum ExprOp;

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool continues_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

// An infix operator in the text. Subtraction and the swapped comparisons are spelled with the
// operations there are.
struct Infix {
  std::string_view sign;
  ExprOp op;
  enum { Plain, Negate, Swap } form = Plain;
};
// Longer signs before their prefixes.
// clang-format off
constexpr Infix kInfix[] = {
    {"or", Or}, {"and", And}, {"<<", Shl}, {">>", Shr}, {"<=", Le}, {">=", Le, Infix::Swap}, {"==", Eq}, {"!=", Ne},
    {"//", FloorDiv}, {"<", Lt}, {">", Lt, Infix::Swap}, {"|", BitOr}, {"^", BitXor}, {"&", BitAnd}, {"+", Add},
    {"-", Add, Infix::Negate}, {"*", Mul}, {"/", FDiv}, {"%", Mod},
};
// clang-format on

const DType* dtype_named(std::string_view name) {
  static const std::vector<DType> all = [] {
    std::vector<DType> v;
    for (int k = 0; k < kDTypes; k++) v.push_back(static_cast<DType>(k));
    return v;
  }();
  for (const DType& t : all)
    if (short_name_of(t) == name && !is_complex(t)) return &t;
  return nullptr;
}

class Parser {
 public:
  Parser(std::string_view text, const Names& names) : text_(text), names_(names) {}

  Expr parse_all() {
    const Expr e = expression(kLowest);
    skip_space();
    if (at_ < text_.size()) fail("expected the end or an operator");
    return e;
  }

 private:
  // A node costs at most two levels of this parser: an operand and its parentheses.
  static constexpr uint32_t kMaxNesting = 2 * kMaxExprDepth + 64;

  std::string_view text_;
  const Names& names_;
  std::size_t at_ = 0;
  uint32_t nesting_ = 0;

  [[noreturn]] void fail(std::string_view what) const { fail_at(at_, what); }
  [[noreturn]] void fail_at(std::size_t at, std::string_view what) const {
    constexpr std::size_t kShown = 24;
    const std::string_view found = text_.substr(std::min(at, text_.size()), kShown);
    throw_user_error(text("cannot parse expression, position ", at, ": ", what, ", found ",
                          found.empty() ? std::string("the end") : text("'", found, "'")));
  }
  void check(std::size_t at, const std::string& problem) const {
    if (!problem.empty()) fail_at(at, problem);
  }

  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) at_++;
  }
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    at_++;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(text("expected '", std::string_view(&c, 1), "'"));
  }
  std::string_view take_name() {
    const std::size_t from = at_;
    while (at_ < text_.size() && continues_name(text_[at_])) at_++;
    return text_.substr(from, at_ - from);
  }

  const Infix* peek_infix() {
    skip_space();
    const std::string_view rest = text_.substr(at_);
    for (const Infix& i : kInfix) {
      if (!rest.starts_with(i.sign)) continue;
      if (starts_name(i.sign[0]) && rest.size() > i.sign.size() && continues_name(rest[i.sign.size()])) continue;
      return &i;
    }
    return nullptr;
  }

  Expr expression(int lowest) {
    if (++nesting_ > kMaxNesting) fail("the expression nests too deeply");
    Expr left = prefix();
    while (const Infix* i = peek_infix()) {
      const int own = precedence_of(i->op);
      if (own < lowest) break;
      const std::size_t at = at_;
      at_ += i->sign.size();
      left = apply(*i, at, left, expression(own + 1));
      const Infix* next = own == kComparison ? peek_infix() : nullptr;
      if (next && precedence_of(next->op) == kComparison) fail("comparisons do not chain; write 'and'");
    }
    nesting_--;
    return left;
  }

  Expr apply(const Infix& i, std::size_t at, Expr a, Expr b) {
    if (i.form == Infix::Negate) {
      check(at, prepare(Neg, b));
      b = -b;
    }
    if (i.form == Infix::Swap) std::swap(a, b);
    check(at, prepare(i.op, a, b));
    return build_binary(i.op, a, b);
  }

  Expr unary(ExprOp op, std::size_t at, Expr a) {
    check(at, prepare(op, a));
    return build_unary(op, a);
  }

  Expr prefix() {
    const char c = peek();
    const std::size_t at = at_;
    if (c == '-') {
      at_++;
      if (is_digit(peek())) return number(true);
      return unary(Neg, at, expression(kUnaryMinus));
    }
    if (is_digit(c)) return number(false);
    if (take('(')) {
      const Expr e = expression(kLowest);
      expect(')');
      return e;
    }
    if (c == '%') {
      at_++;
      const std::string name = "%" + std::string(take_name());
      return named(at, name);
    }
    if (starts_name(c)) return word(at, take_name());
    fail("expected an operand");
  }

  Expr word(std::size_t at, std::string_view name) {
    if (name == "not") return unary(Not, at, expression(kNot));
    if (name == "true" || name == "false") return Expr(name == "true");
    if (name == "inf") return Expr(std::numeric_limits<double>::infinity());
    if (name == "nan") return Expr(std::numeric_limits<double>::quiet_NaN());
    if (peek() == '(') return call(at, name);
    if (peek() == '[') return load(at, name);
    return named(at, name);
  }

  Expr named(std::size_t at, std::string_view name) {
    const Expr* e = names_.find(name);
    if (!e) fail_at(at, text("unknown name '", name, "'"));
    return *e;
  }

  Expr load(std::size_t at, std::string_view name) {
    const Names::Buffer* buffer = names_.find_buffer(name);
    if (!buffer) fail_at(at, text("unknown buffer '", name, "'"));
    std::vector<Expr> indices = list('[', ']');
    for (const Expr& i : indices) {
      if (i.dtype() == DType::i64) continue;
      fail_at(at, text("an index of '", name, "' is ", short_name_of(i.dtype()), ", not i64"));
    }
    return Expr::load(buffer->id, buffer->dtype, std::move(indices), buffer->load_name);
  }

  std::vector<Expr> list(char open, char close) {
    expect(open);
    std::vector<Expr> items;
    if (take(close)) return items;
    do items.push_back(expression(kLowest));
    while (take(','));
    expect(close);
    return items;
  }

  Expr call(std::size_t at, std::string_view name) {
    if (name == "cast") return conversion();
    if (const DType* t = dtype_named(name)) return typed_constant(*t);
    const OpInfo* info = function_named(name);
    if (!info) fail_at(at, text("unknown function '", name, "'"));
    std::vector<Expr> args = list('(', ')');
    const std::size_t wanted = info->arity == Arity::Unary ? 1 : info->arity == Arity::Binary ? 2 : 3;
    if (args.size() != wanted) fail_at(at, text(name, " takes ", wanted, " operands, not ", args.size()));
    if (wanted == 1) return unary(info->op, at, args[0]);
    if (wanted == 2) {
      check(at, prepare(info->op, args[0], args[1]));
      return build_binary(info->op, args[0], args[1]);
    }
    if (args[0].dtype() != DType::b8) fail_at(at, text("a condition is b8, not ", short_name_of(args[0].dtype())));
    check(at, unify(args[1], args[2]));
    return select(args[0], args[1], args[2]);
  }

  Expr conversion() {
    expect('(');
    peek();
    const std::size_t at = at_;
    const DType* t = dtype_named(take_name());
    if (!t) fail_at(at, "expected a type such as f32");
    expect(',');
    const Expr e = expression(kLowest);
    expect(')');
    return cast(*t, e);
  }

  Expr typed_constant(DType t) {
    expect('(');
    const std::size_t at = at_;
    const bool negative = take('-');
    peek();
    Expr e;
    if (starts_name(peek())) e = word(at, take_name());
    else if (is_digit(peek())) e = number(negative);
    else fail("expected a number");
    if (!e.is_const() || e.dtype() == DType::b8) fail_at(at, "expected a number");
    if (negative && is_floating(e.dtype()) && (e->f > 0)) e = -e;
    expect(')');
    const bool fits = is_floating(t) || (e.dtype() == DType::i64 && wrap_to(t, e->i) == e->i);
    if (!fits) fail_at(at, text("not a value of ", short_name_of(t)));
    return e.dtype() == DType::i64 ? Expr::constant(t, e->i) : Expr::constant(t, e->f);
  }

  Expr number(bool negative) {
    const std::size_t from = at_;
    bool is_float = false;
    while (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '.')) is_float |= text_[at_++] == '.';
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      is_float = true;
      at_++;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) at_++;
      while (at_ < text_.size() && is_digit(text_[at_])) at_++;
    }
    const std::string digits = (negative ? "-" : "") + std::string(text_.substr(from, at_ - from));
    const char* end = digits.data() + digits.size();
    if (is_float) {
      double v = 0;
      const auto r = std::from_chars(digits.data(), end, v);
      if (r.ptr != end || r.ec != std::errc()) fail_at(from, "not a float that double can hold");
      return Expr(v);
    }
    int64_t v = 0;
    const auto r = std::from_chars(digits.data(), end, v);
    if (r.ptr != end || r.ec != std::errc()) fail_at(from, "not an integer of 64 bits");
    return Expr(v);
  }
};

}  // namespace

void Names::add(const Expr& leaf) {
  if (leaf.op() == Load) return add_buffer(default_name(leaf), {leaf->i, leaf.dtype(), leaf->name});
  INGOT_ENSURE(leaf.op() == Sym || leaf.op() == Idx || leaf.op() == Tmp, "only leaves have a name of their own");
  add(default_name(leaf), leaf);
}

void Names::add(std::string name, const Expr& e) {
  const auto [it, inserted] = values_.emplace(std::move(name), e);
  INGOT_REQUIRE(inserted || same(it->second, e), "the name '", it->first, "' stands for two values");
}

void Names::add_buffer(std::string name, int64_t buffer, DType dtype) { add_buffer(name, {buffer, dtype, name}); }

void Names::add_buffer(const std::string& name, const Buffer& buffer) {
  const auto [it, inserted] = buffers_.emplace(name, buffer);
  INGOT_REQUIRE(inserted || it->second == buffer, "the name '", name, "' stands for two buffers");
}

Names Names::of(const Expr& e) {
  Names names;
  visit(e, [&](const Expr& x) {
    if (x.op() == Sym || x.op() == Idx || x.op() == Tmp || x.op() == Load) names.add(x);
  });
  return names;
}

Names Names::within(const Names& outer) {
  Names names;
  names.outer_ = &outer;
  return names;
}

const Expr* Names::find(std::string_view name) const {
  const auto it = values_.find(name);
  if (it != values_.end()) return &it->second;
  return outer_ ? outer_->find(name) : nullptr;
}

const Names::Buffer* Names::find_buffer(std::string_view name) const {
  const auto it = buffers_.find(name);
  if (it != buffers_.end()) return &it->second;
  return outer_ ? outer_->find_buffer(name) : nullptr;
}

Expr parse(std::string_view text, const Names& names) { return Parser(text, names).parse_all(); }

}  // namespace ingot
