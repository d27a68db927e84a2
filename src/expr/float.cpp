#include "ingot/float.hpp"

#include "base/error.hpp"
#include "expr/evaluate.hpp"
#include "expr/float_steps.hpp"
#include "expr/guards.hpp"
#include "ingot/expr.hpp"

namespace ingot {
namespace {

GuardEnv& environment(const Expr& e) {
  GuardEnv* env = current_guard_env();
  INGOT_REQUIRE(env, "the value of ", e,
                " is needed and no shape environment is active; make the sizes static, or trace under a ", "GuardScope");
  return *env;
}

}  // namespace

Int count_steps(Float start, Float end, Float step) { return Float(ceil((end.expr() - start.expr()) / step.expr())).truncated(); }

Float::Float(Int v) {
  if (v.is_number()) number_ = static_cast<double>(v.number());
  else *this = Float(cast(DType::f64, v.expr()));
}

Float::Float(const Expr& e) {
  INGOT_ENSURE(e.valid() && e.dtype() == DType::f64, "a real number is an f64 expression");
  if (e.is_const()) number_ = e->f;
  else node_ = e.node();
}

Expr Float::expr() const { return node_ ? Expr(node_) : Expr::constant(DType::f64, number_); }

double Float::slow_value() const {
  GuardEnv& env = environment(expr());
  if (env.needs_data(expr())) env.specialise(expr());  // which refuses
  return evaluate_real(expr(), [&](const Expr& leaf) { return env.specialise(leaf); });
}

Int Float::slow_truncated() const { return Int(cast(DType::i64, expr())); }
bool Float::slow_is_zero() const { return environment(expr()).decide(eq(expr(), Expr(0.0))); }
std::string Float::slow_text() const { return to_text(expr()); }

}  // namespace ingot
