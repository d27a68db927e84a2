#include <charconv>
#include <cmath>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "expr/op_info.hpp"
#include "expr/precedence.hpp"
#include "expr/range.hpp"
#include "expr/scalar.hpp"
#include "expr/text.hpp"

namespace ingot {
namespace {

using enum ExprOp;

template <class T>
std::string shortest(T v) {
  char buffer[64];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, v).ptr);
}

// Digits that the parser, which reads a double and then rounds to `t`, takes back to `v`.
std::string float_text(DType t, double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  std::string s = t == DType::f64 ? shortest(v) : shortest(static_cast<float>(v));
  double back = 0;
  std::from_chars(s.data(), s.data() + s.size(), back);
  if (round_to(t, back) != v) s = shortest(v);
  return s.find_first_of(".e") == std::string::npos ? s + ".0" : s;
}

class Printer {
 public:
  explicit Printer(const LeafNamer& name) : name_(name) {}

  // Puts parentheses where `e` binds looser than its place asks.
  void print(const Expr& e, int place) {
    const int own = precedence(e);
    if (own < place) out_ += '(';
    print_bare(e);
    if (own < place) out_ += ')';
  }
  std::string take() { return std::move(out_); }

 private:
  const LeafNamer& name_;
  std::string out_;

  static bool negative_scale(const Expr& e) {
    return e.op() == Mul && e.dtype() == DType::i64 && e.arg(0).is_const() && e.arg(0)->i < 0;
  }
  static int precedence(const Expr& e) {
    if (e.is_const()) return kPrimary;  // a sign belongs to the number
    if (e.op() == Mul && e.dtype() == DType::i64 && e.args().size() == 2 && e.arg(0).is_const(-1)) return kUnaryMinus;
    return precedence_of(e.op());
  }

  void print_bare(const Expr& e) {
    switch (e.op()) {
      case Const: return constant(e, false);
      case Sym:
      case Idx:
      case Tmp: out_ += name_(e); return;
      case Load: out_ += name_(e); return list('[', e.args(), ']');
      case Add: return sum(e);
      case Mul: return product(e);
      case Neg: out_ += '-'; return print(e.arg(0), kUnaryMinus + 1);
      case Not: out_ += "not "; return print(e.arg(0), kNot);
      case Cast:
        out_ += text("cast(", short_name_of(e.dtype()), ", ");
        print(e.arg(0), kLowest);
        out_ += ')';
        return;
      default: break;
    }
    if (is_infix(e.op())) return infix(e);
    out_ += name_of(e.op());
    out_ += '(';
    for (std::size_t k = 0; k < e.args().size(); k++) {
      if (k != 0) out_ += ", ";
      operand(e, k, kLowest);
    }
    out_ += ')';
  }

  void list(char open, std::span<const Expr> args, char close) {
    out_ += open;
    for (std::size_t k = 0; k < args.size(); k++) {
      if (k != 0) out_ += ", ";
      print(args[k], kLowest);
    }
    out_ += close;
  }

  // A constant beside an operand that is not one needs no type: the parser gives it that operand's.
  void operand(const Expr& parent, std::size_t k, int place) {
    const Expr& e = parent.arg(k);
    const std::size_t first = parent.op() == Select ? 1 : 0;
    if (e.is_const() && k >= first) {
      bool typed_by_partner = false;
      for (const Expr& a : parent.args().subspan(first)) typed_by_partner |= !a.is_const();
      return constant(e, typed_by_partner);
    }
    print(e, place);
  }

  void constant(const Expr& e, bool typed_by_partner) {
    const DType t = e.dtype();
    if (t == DType::b8) {
      out_ += e->i != 0 ? "true" : "false";
      return;
    }
    const std::string digits = is_floating(t) ? float_text(t, e->f) : std::to_string(e->i);
    if (typed_by_partner || t == DType::i64 || t == DType::f64) out_ += digits;
    else out_ += text(short_name_of(t), "(", digits, ")");
  }

  void sum(const Expr& e) {
    operand(e, 0, kSum);
    for (std::size_t k = 1; k < e.args().size(); k++) {
      const Expr& term = e.arg(k);
      if (term.op() == Neg) {
        out_ += " - ";
        print(term.arg(0), kProduct);
      } else if (negative_scale(term) && term.arg(0)->i != Range::kMin) {
        out_ += " - ";
        scaled(term, -term.arg(0)->i);
      } else if (term.is_const() && (term->i < 0 || term->f < 0) && term->i != Range::kMin) {
        out_ += " - " + (is_floating(term.dtype()) ? float_text(term.dtype(), -term->f) : std::to_string(-term->i));
      } else {
        out_ += " + ";
        operand(e, k, kProduct);
      }
    }
  }

  void product(const Expr& e) {
    if (e.dtype() == DType::i64) return scaled(e, e.arg(0).is_const() ? e.arg(0)->i : 1);
    if (e.arg(0).op() == Mul) print(e.arg(0), kProduct);
    else operand(e, 0, kUnaryMinus);
    out_ += '*';
    operand(e, 1, kUnaryMinus);
  }

  // An i64 product with `c` for its coefficient.
  void scaled(const Expr& e, int64_t c) {
    const std::size_t first = e.arg(0).is_const() ? 1 : 0;
    if (c == -1) out_ += '-';
    else if (c != 1) out_ += std::to_string(c) + '*';
    for (std::size_t k = first; k < e.args().size(); k++) {
      if (k != first) out_ += '*';
      print(e.arg(k), kPrimary);
    }
  }

  void infix(const Expr& e) {
    const int own = precedence_of(e.op());
    const bool comparison = own == kComparison;
    // Left operands nest without parentheses; of the operators beside `*` only `*` itself does, to
    // keep it readable.
    const ExprOp left = e.arg(0).op();
    const bool nests = !comparison && (own != kProduct || left == Mul);
    operand(e, 0, nests ? own : own + 1);
    out_ += text(" ", symbol_of(e.op()), " ");
    operand(e, 1, own + 1);
  }
};

}  // namespace

std::string default_name(const Expr& leaf) {
  switch (leaf.op()) {
    case Idx: return leaf->name.empty() ? text("i", leaf->i) : leaf->name;
    case Tmp: return "%" + (leaf->name.empty() ? std::to_string(leaf->i) : leaf->name);
    case Load: return leaf->name.empty() ? text("b", leaf->i) : leaf->name;
    default: return leaf->name;
  }
}

std::string print(const Expr& e, const LeafNamer& name) {
  Printer printer(name);
  printer.print(e, kLowest);
  return printer.take();
}

std::string print(const Expr& e) { return print(e, default_name); }

std::string to_text(const Expr& e) { return e.valid() ? print(e) : "<null>"; }

}  // namespace ingot
