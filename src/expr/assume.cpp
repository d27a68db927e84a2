#include "expr/assume.hpp"

#include <algorithm>
#include <cstddef>

#include "base/error.hpp"
#include "expr/guards.hpp"
#include "expr/range.hpp"
#include "ingot/expr.hpp"

namespace ingot {
namespace {

bool assume(const Expr& condition, const std::string& message) {
  if (condition.is_const()) return condition->i != 0;
  GuardEnv* env = current_guard_env();
  INGOT_REQUIRE(env, "cannot decide whether ", condition,
                " holds: it depends on symbolic sizes and no shape environment is active");
  return env->assume(condition, message);
}

}  // namespace

bool assume_nonzero(Int v, const std::string& message) { return assume(ne(v.expr(), Expr(0)), message); }
bool assume_nonzero(Float v, const std::string& message) { return assume(ne(v.expr(), Expr(0.0)), message); }
bool assume_at_least(Int a, Int b, const std::string& message) { return assume(ge(a.expr(), b.expr()), message); }

Int truth_of_at_most(Int a, Int b) { return Int(cast(DType::i64, le(a.expr(), b.expr()))); }
Int truth_of_equal(const Shape& a, const Shape& b) {
  Expr same = Expr::boolean(a.size() == b.size());
  for (std::size_t d = 0; d < std::min(a.size(), b.size()); d++) same = same && eq(a[d].expr(), b[d].expr());
  return Int(cast(DType::i64, same));
}

void use_as_size(Int v) { current_guard_env()->becomes_size(v.expr()); }
Int fresh_element(DType t) {
  const Range range = of_dtype(t);
  return current_guard_env()->fresh_symbol(range.lo, range.hi, false);
}

}  // namespace ingot
