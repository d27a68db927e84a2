#include "ingot/int.hpp"

#include <vector>

#include "base/error.hpp"
#include "expr/guards.hpp"
#include "expr/if_known.hpp"
#include "expr/scalar.hpp"
#include "ingot/expr.hpp"

namespace ingot {
namespace {

const ExprNode* node_at(int64_t bits) { return reinterpret_cast<const ExprNode*>(bits - 1); }

[[noreturn]] void overflow(Int a, const char* op, Int b) { throw_user_error(text("integer overflow in ", a, op, b)); }

bool decide(const Expr& condition) {
  if (condition.is_const()) return condition->i != 0;
  GuardEnv* env = current_guard_env();
  INGOT_REQUIRE(env, "cannot decide whether ", condition, " holds: it depends on symbolic sizes and no shape ",
                "environment is active; make the sizes static, tighten their ranges, or trace under a GuardScope");
  return env->decide(condition);
}

std::optional<bool> decide_if_known(const Expr& condition) {
  GuardEnv* env = current_guard_env();
  if (condition.is_const() || env == nullptr) return decide(condition);
  if (const auto answer = env->known(condition)) return answer;
  if (env->needs_data(env->simplify(condition))) return std::nullopt;
  return env->decide(condition);
}

// Rules ask the same of the same sizes over and over. What was built last for an operation and its
// operands is kept, one place for each hash; nodes live as long as the process, so nothing here
// goes stale. Neg of two is their difference.
Expr built(ExprOp op, Int a, Int b) {
  struct Entry {
    ExprOp op{};
    Int a, b;
    Expr result;
  };
  constexpr std::size_t kEntries = 1024;
  thread_local std::vector<Entry> entries(kEntries);
  const std::size_t hash = (a.hash() ^ (b.hash() << 1)) + static_cast<std::size_t>(op) * 0x85EBCA6Bu;
  Entry& e = entries[(hash ^ (hash >> 20) ^ (hash >> 40)) % kEntries];
  if (!e.result.valid() || e.op != op || !e.a.same(a) || !e.b.same(b)) {
    const Expr operands[] = {a.expr(), b.expr()};
    e = {op, a, b, op == ExprOp::Neg ? operands[0] - operands[1] : build(op, DType::i64, operands)};
  }
  return e.result;
}

void require_divisor(Int b) { INGOT_REQUIRE(!b.same(0), "integer division by zero"); }

}  // namespace

Int::Int(const Expr& e) {
  INGOT_ENSURE(e.valid() && e.dtype() == DType::i64, "a size is an i64 expression");
  if (e.is_const()) *this = Int(e->i);
  else bits_ = reinterpret_cast<int64_t>(e.node()) + 1;
}

bool Int::is_big() const { return node_at(bits_)->op == ExprOp::Const; }

Int Int::big(int64_t v) {
  Int r;
  r.bits_ = reinterpret_cast<int64_t>(Expr(v).node()) + 1;
  return r;
}

int64_t Int::slow_number() const {
  INGOT_ENSURE(is_big(), "a plain number was expected, not ", *this);
  return node_at(bits_)->i;
}

int64_t Int::slow_value() const {
  if (is_big()) return node_at(bits_)->i;
  GuardEnv* env = current_guard_env();
  INGOT_REQUIRE(env, "the value of the symbolic size ", *this, " is needed and no shape environment is active; make ",
                "the size static, or trace under a GuardScope");
  return env->specialise(expr());
}

Expr Int::expr() const { return (bits_ & 1) == 0 ? Expr(bits_ / 2) : Expr(node_at(bits_)); }

Int Int::slow_add(Int a, Int b) {
  if (!a.is_number() || !b.is_number()) return Int(built(ExprOp::Add, a, b));
  int64_t r;
  if (__builtin_add_overflow(a.number(), b.number(), &r)) overflow(a, " + ", b);
  return r;
}

Int Int::slow_sub(Int a, Int b) {
  if (!a.is_number() || !b.is_number()) return Int(built(ExprOp::Neg, a, b));
  int64_t r;
  if (__builtin_sub_overflow(a.number(), b.number(), &r)) overflow(a, " - ", b);
  return r;
}

Int operator*(Int a, Int b) {
  if (!a.is_number() || !b.is_number()) return Int(built(ExprOp::Mul, a, b));
  int64_t r;
  if (__builtin_mul_overflow(a.number(), b.number(), &r)) overflow(a, " * ", b);
  return r;
}

bool Int::slow_eq(Int a, Int b) {
  if (a.is_number() && b.is_number()) return a.same(b);
  return decide(built(ExprOp::Eq, a, b));
}

bool Int::slow_lt(Int a, Int b) {
  if (a.is_number() && b.is_number()) return a.number() < b.number();
  return decide(built(ExprOp::Lt, a, b));
}

Int floor_div(Int a, Int b) {
  require_divisor(b);
  if (!a.is_number() || !b.is_number()) return Int(built(ExprOp::FloorDiv, a, b));
  if (b.same(-1)) return -a;
  return floor_quotient(a.number(), b.number());
}

Int ceil_div(Int a, Int b) {
  require_divisor(b);
  if (a.is_number() && b.is_number()) {
    const Int q = floor_div(a, b);
    return mod(a, b).same(0) ? q : q + 1;
  }
  // The first form simplifies better: it stays a quotient of sums.
  if (b.expr()->lo >= 0) return floor_div(a + b - 1, b);
  return -floor_div(-a, b);
}

Int mod(Int a, Int b) {
  require_divisor(b);
  if (!a.is_number() || !b.is_number()) return Int(built(ExprOp::Mod, a, b));
  return b.same(-1) ? 0 : floor_remainder(a.number(), b.number());
}

Int min(Int a, Int b) {
  if (a.is_number() && b.is_number()) return b < a ? b : a;
  return Int(built(ExprOp::Min, a, b));
}

Int max(Int a, Int b) {
  if (a.is_number() && b.is_number()) return a < b ? b : a;
  return Int(built(ExprOp::Max, a, b));
}

std::string to_text(Int v) { return v.is_number() ? std::to_string(v.number()) : to_text(v.expr()); }

std::optional<bool> equal_if_known(Int a, Int b) {
  if (a.same(b)) return true;
  if (a.is_number() && b.is_number()) return false;
  return decide_if_known(built(ExprOp::Eq, a, b));
}
std::optional<bool> less_if_known(Int a, Int b) {
  if (a.is_number() && b.is_number()) return a.number() < b.number();
  return decide_if_known(built(ExprOp::Lt, a, b));
}

bool data_decides(Int v) {
  const GuardEnv* env = current_guard_env();
  return v.is_symbolic() && env != nullptr && env->needs_data(v.expr());
}

void take_for_less(Int a, Int b, const std::string& message) {
  GuardEnv* env = current_guard_env();
  INGOT_ENSURE(env, "only data decides whether ", a, " < ", b, ", and nothing is traced");
  env->defer(built(ExprOp::Lt, a, b), message);
}

bool is_truth(Int v) {
  if (v.is_number()) return false;
  const Expr e = v.expr();
  return (e.op() == ExprOp::Cast && e.arg(0).dtype() == DType::b8) || (e.op() == ExprOp::Sym && e->lo >= 0 && e->hi <= 1);
}

bool statically_equal(Int a, Int b) {
  if (a.same(b)) return true;
  if (a.is_number() && b.is_number()) return false;
  const Expr equal = built(ExprOp::Eq, a, b);
  if (equal.is_const()) return equal.is_const(1);
  GuardEnv* env = current_guard_env();
  return env != nullptr && env->known(equal) == true;
}

}  // namespace ingot
