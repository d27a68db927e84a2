// The builders' own parts.
#pragma once
#include <string>

#include "ingot/expr.hpp"

namespace ingot {

bool is_literal(const Expr& e);  // a constant that takes its partner's type
// Gives both operands one type. Returns what is wrong, or nothing (empty).
std::string unify(Expr& a, Expr& b);
// unify plus a check that `op` takes that type: what the parser asks before it builds.
std::string prepare(ExprOp op, Expr& a, Expr& b);
std::string prepare(ExprOp op, Expr& a);

Expr build_unary(ExprOp op, Expr a);
Expr build_binary(ExprOp op, Expr a, Expr b);

// By kind. Operands are of one type already.
Expr divide_i64(ExprOp op, const Expr& a, const Expr& b);      // division.cpp: FloorDiv, Mod
Expr build_extremum(ExprOp op, const Expr& a, const Expr& b);  // logic.cpp: Min, Max
Expr build_comparison(ExprOp op, const Expr& a, const Expr& b);
Expr build_connective(ExprOp op, const Expr& a, const Expr& b);
Expr build_not(const Expr& a);

}  // namespace ingot
