// What was built of two whole-number operands, kept for the next time: the layers of a model ask
// for the same addresses.
#pragma once
#include "ingot/expr.hpp"

namespace ingot {

// Whether a proof is under way on this thread (expr/bounds.cpp). It gives up at some depth, so what
// is built inside one depends on where that is, and is no answer for anybody else.
bool inside_proof();

// The result that `remember` was last given for these operands, if it is still there; else null.
Expr remembered(ExprOp op, const Expr& a, const Expr& b);
void remember(ExprOp op, const Expr& a, const Expr& b, const Expr& result);

}  // namespace ingot
