// Int and expressions, for the few ops that assert conditions: in a run every expression is a constant.
#include "base/error.hpp"
#include "expr/expr.hpp"
#include "ingot/int.hpp"

namespace ingot {

Int::Int(const Expr& e) {
  INGOT_ENSURE(e.valid() && e.is_const() && e.dtype() == DType::i64, "a size is a number");
  *this = Int(e->i);
}

Expr Int::expr() const { return Expr(number()); }
Expr Float::expr() const { return Expr::constant(DType::f64, number_); }

}  // namespace ingot
