// Expr: one scalar expression for symbolic sizes, loop indices and element formulas.
//
// An Expr is a pointer to an immutable, interned node: `same(a, b)` is structural equality and
// costs one comparison, so memo tables and common subexpressions are free. Nodes live as long as
// the process; handles may cross threads. Builders simplify, and nothing else makes nodes, so there
// is no simplify pass. Order is structural (`compare`): text and term order never depend on
// addresses, threads or what was built before.
//
// Semantics
// - i64 sums and products are polynomials: a sum of coefficient * sorted product of atoms, whatever
//   order built them. Machine arithmetic wraps; proofs and the division rules assume sizes and
//   indices that do not overflow.
// - Floats are never reassociated: x*1, x/1, x + -0.0, --x, constant folding, and division by a
//   power of two. Constants fold in their own type.
// - FloorDiv and Mod round to minus infinity and take integers; a divisor is never zero. Fmod has
//   the sign of its dividend.
// - Select guards the loads below it: an arm is evaluated only where its condition selects it.
// - Min and Max propagate NaN. Round is half to even. Sign of NaN is 0. Cast of a float to an
//   integer truncates.
// - A loop index carries its extent and ranges over [0, extent); every proof reads it from the
//   node. Extents are not operands: visit, depends and substitute do not look into them.
// - Operands of one operation have one type; there is no implicit promotion. An i64 or f64 constant
//   (what a C++ literal makes) is the exception: next to another type it takes that type, so T(1) /
//   (T(1) + exp(-x)) works for T = Expr.
#pragma once
#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ingot/dtype.hpp"
#include "ingot/int.hpp"
#include "ingot/float.hpp"

namespace ingot {

enum class ExprOp : uint8_t {
  // clang-format off
  Const, Sym, Idx, Tmp, Load,
  Add, Mul, FDiv, FloorDiv, Mod, Min, Max,
  Lt, Le, Eq, Ne, And, Or, Not,
  BitAnd, BitOr, BitXor, Shl, Shr,
  Select, Cast,
  Neg, Abs, Sign, Floor, Ceil, Round, Trunc,
  Exp, Exp2, Expm1, Log, Log2, Log10, Log1p, Sqrt, Rsqrt,
  Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Asinh, Acosh, Atanh,
  Erf, Erfc, Lgamma, Digamma, IsNan, IsInf,
  Atan2, Pow, Fmod, Copysign,
  // clang-format on
};

struct ExprNode;

// The end of a range that is not bounded. The other end is the smallest int64_t.
inline constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();
// Nodes nest at most this deep (a user error past it), so recursion over an expression is safe.
inline constexpr uint32_t kMaxExprDepth = 2048;

class Expr {
 public:
  Expr() = default;  // null: only valid(), same() and assignment may touch it
  template <std::integral T>
  Expr(T v) : Expr(std::same_as<T, bool> ? boolean(v) : constant(DType::i64, static_cast<int64_t>(v))) {}
  template <std::floating_point T>
  Expr(T v) : Expr(constant(DType::f64, static_cast<double>(v))) {}
  Expr(Int v) : Expr(v.expr()) {}
  Expr(Float v) : Expr(v.expr()) {}
  explicit Expr(const ExprNode* node) : node_(node) {}

  // A constant of exactly this type; the value is rounded or wrapped to it.
  template <std::integral T>
  static Expr constant(DType t, T v) {
    return integer_constant(t, static_cast<int64_t>(v));
  }
  template <std::floating_point T>
  static Expr constant(DType t, T v) {
    return float_constant(t, static_cast<double>(v));
  }
  static Expr boolean(bool v) { return integer_constant(DType::b8, v); }
  // A size known at run time, in [lo, hi]. Identity is name and range. Names are identifiers.
  static Expr symbol(std::string_view name, int64_t lo = 1, int64_t hi = kUnbounded);
  // A real number known at run time. Identity is the name.
  static Expr float_symbol(std::string_view name);
  // A loop variable over [0, extent). Identity is all three; without a name it prints as i<id>. Ids
  // come from the caller (one counter per kernel), never from a global counter: they take part in
  // the order of terms.
  static Expr index(int64_t id, const Expr& extent, std::string_view name = {});
  // A value computed elsewhere (an accumulator); prints as %<name> or %<id>.
  static Expr tmp(int64_t id, DType t, std::string_view name = {});
  // An element of a buffer; prints as <name>[...] or b<buffer>[...]. Indices are i64.
  static Expr load(int64_t buffer, DType t, std::vector<Expr> indices, std::string_view name = {});

  bool valid() const { return node_ != nullptr; }
  const ExprNode* node() const { return node_; }
  const ExprNode* operator->() const { return node_; }
  inline ExprOp op() const;
  inline DType dtype() const;
  inline std::span<const Expr> args() const;
  inline const Expr& arg(std::size_t i) const;
  inline bool is_const() const;
  inline bool is_const(int64_t v) const;  // an integer, bool or float constant of this value

  friend Expr operator+(const Expr& a, const Expr& b);
  friend Expr operator-(const Expr& a, const Expr& b);
  friend Expr operator*(const Expr& a, const Expr& b);
  friend Expr operator/(const Expr& a, const Expr& b);  // true division; integers use floor_div
  friend Expr operator-(const Expr& a);
  Expr& operator+=(const Expr& o) { return *this = *this + o; }
  Expr& operator-=(const Expr& o) { return *this = *this - o; }
  Expr& operator*=(const Expr& o) { return *this = *this * o; }
  Expr& operator/=(const Expr& o) { return *this = *this / o; }
  friend Expr floor_div(const Expr& a, const Expr& b);
  friend Expr mod(const Expr& a, const Expr& b);
  friend Expr min(const Expr& a, const Expr& b);
  friend Expr max(const Expr& a, const Expr& b);

  friend Expr lt(const Expr& a, const Expr& b);
  friend Expr le(const Expr& a, const Expr& b);
  friend Expr eq(const Expr& a, const Expr& b);
  friend Expr ne(const Expr& a, const Expr& b);
  friend Expr gt(const Expr& a, const Expr& b) { return lt(b, a); }
  friend Expr ge(const Expr& a, const Expr& b) { return le(b, a); }
  friend Expr operator<(const Expr& a, const Expr& b) { return lt(a, b); }
  friend Expr operator<=(const Expr& a, const Expr& b) { return le(a, b); }
  friend Expr operator>(const Expr& a, const Expr& b) { return lt(b, a); }
  friend Expr operator>=(const Expr& a, const Expr& b) { return le(b, a); }
  friend Expr operator==(const Expr& a, const Expr& b) { return eq(a, b); }
  friend Expr operator!=(const Expr& a, const Expr& b) { return ne(a, b); }
  friend Expr logical_and(const Expr& a, const Expr& b);
  friend Expr logical_or(const Expr& a, const Expr& b);
  friend Expr logical_not(const Expr& a);
  friend Expr operator&&(const Expr& a, const Expr& b) { return logical_and(a, b); }
  friend Expr operator||(const Expr& a, const Expr& b) { return logical_or(a, b); }
  friend Expr operator!(const Expr& a) { return logical_not(a); }
  friend Expr select(const Expr& condition, const Expr& a, const Expr& b);
  friend Expr where(const Expr& condition, const Expr& a, const Expr& b) { return select(condition, a, b); }
  friend Expr cast(DType t, const Expr& a);

  friend Expr operator&(const Expr& a, const Expr& b);
  friend Expr operator|(const Expr& a, const Expr& b);
  friend Expr operator^(const Expr& a, const Expr& b);
  friend Expr operator~(const Expr& a);
  friend Expr operator<<(const Expr& a, const Expr& b);
  friend Expr operator>>(const Expr& a, const Expr& b);  // arithmetic for signed types

  friend Expr abs(const Expr& a);
  friend Expr sign(const Expr& a);
  friend Expr floor(const Expr& a);
  friend Expr ceil(const Expr& a);
  friend Expr round(const Expr& a);
  friend Expr trunc(const Expr& a);
  friend Expr exp(const Expr& a);
  friend Expr exp2(const Expr& a);
  friend Expr expm1(const Expr& a);
  friend Expr log(const Expr& a);
  friend Expr log2(const Expr& a);
  friend Expr log10(const Expr& a);
  friend Expr log1p(const Expr& a);
  friend Expr sqrt(const Expr& a);
  friend Expr rsqrt(const Expr& a);
  friend Expr sin(const Expr& a);
  friend Expr cos(const Expr& a);
  friend Expr tan(const Expr& a);
  friend Expr asin(const Expr& a);
  friend Expr acos(const Expr& a);
  friend Expr atan(const Expr& a);
  friend Expr sinh(const Expr& a);
  friend Expr cosh(const Expr& a);
  friend Expr tanh(const Expr& a);
  friend Expr asinh(const Expr& a);
  friend Expr acosh(const Expr& a);
  friend Expr atanh(const Expr& a);
  friend Expr erf(const Expr& a);
  friend Expr erfc(const Expr& a);
  friend Expr lgamma(const Expr& a);
  friend Expr digamma(const Expr& a);
  friend Expr isnan(const Expr& a);
  friend Expr isinf(const Expr& a);
  friend Expr atan2(const Expr& a, const Expr& b);
  friend Expr pow(const Expr& a, const Expr& b);
  friend Expr fmod(const Expr& a, const Expr& b);
  friend Expr copysign(const Expr& a, const Expr& b);

 private:
  const ExprNode* node_ = nullptr;

  static Expr integer_constant(DType t, int64_t v);
  static Expr float_constant(DType t, double v);
};

struct ExprNode {
  ExprOp op;
  DType dtype;
  bool has_data = false;        // a Load or Tmp is below (or is this)
  uint32_t depth = 1;
  int64_t i = 0;                // Const (integers, bool as 0/1, u64 as bits); id of Idx, Tmp; buffer of Load
  double f = 0;                 // Const of a floating type
  int64_t lo = 0, hi = 0;       // range of an integer or bool; smallest int64_t and kUnbounded where not known
  uint64_t hash = 0;            // structural: the same in every process
  uint64_t leaves = 0;          // Bloom filter of the leaves below: `depends` answers most questions from it
  std::string name;             // Sym, Idx, Tmp, Load
  std::vector<Expr> args;       // operands; indices of Load; Idx: its extent
};

inline ExprOp Expr::op() const { return node_->op; }
inline DType Expr::dtype() const { return node_->dtype; }
inline std::span<const Expr> Expr::args() const { return node_->args; }
inline const Expr& Expr::arg(std::size_t i) const { return node_->args[i]; }
inline bool Expr::is_const() const { return node_->op == ExprOp::Const; }
inline bool Expr::is_const(int64_t v) const {
  return is_const() && (node_->f != 0 ? node_->f == static_cast<double>(v) : node_->i == v);
}

// Structural identity, never an Expr as == is.
inline bool same(const Expr& a, const Expr& b) { return a.node() == b.node(); }
bool same(std::span<const Expr> a, std::span<const Expr> b);
// The structural order: op, type, payload, name, then operands. Zero means same.
std::strong_ordering compare(const Expr& a, const Expr& b);

struct ExprHash {
  std::size_t operator()(const Expr& e) const { return e->hash; }
};
struct ExprSame {
  bool operator()(const Expr& a, const Expr& b) const { return same(a, b); }
};
struct ExprLess {
  bool operator()(const Expr& a, const Expr& b) const { return compare(a, b) < 0; }
};

// The generic door to the builders: `dtype` matters for Cast alone. Leaves are not built here.
Expr build(ExprOp op, DType dtype, std::span<const Expr> args);
// `e` with other operands, simplified again: the only way to change a node.
Expr rebuild(const Expr& e, std::span<const Expr> args);
// Replaces every from[k] (any node, most often leaves) by to[k], all at once.
Expr substitute(const Expr& e, std::span<const Expr> from, std::span<const Expr> to);
Expr substitute(const Expr& e, const Expr& from, const Expr& to);
// True where `v` occurs in `e` (or is it).
bool depends(const Expr& e, const Expr& v);

// The factor of `v` in `e` when e = factor*v + rest and neither has v; nothing when v hides under a
// division, a load or any other operation, or is squared.
std::optional<Expr> stride(const Expr& e, const Expr& v);

// True only when proved for all values in range of every leaf. i64 operands.
bool prove_lt(const Expr& a, const Expr& b);
bool prove_ge(const Expr& a, const Expr& b);

// Issue slots of one evaluation, shared subexpressions once. Integer arithmetic that sees no data
// (addresses) is free.
int cost(const Expr& e);

void visit_nodes(const Expr& e, void (*f)(void* context, const Expr& node), void* context);
// Calls f once for every node of `e`, operands before their users, in a deterministic order.
template <class F>
void visit(const Expr& e, F&& f) {
  visit_nodes(e, [](void* context, const Expr& x) { (*static_cast<std::remove_reference_t<F>*>(context))(x); }, &f);
}

std::string_view name_of(ExprOp op);  // as text has it: "add", "exp", "select"
std::string to_text(const Expr& e);   // the grammar is in src/expr/text.hpp

}  // namespace ingot
