// Arithmetic on constants, each in its own type.
#pragma once
#include <cstdint>
#include <optional>

#include "ingot/expr.hpp"

namespace ingot {

int64_t floor_quotient(int64_t a, int64_t b);   // b is not 0, and not -1 with the smallest a
int64_t floor_remainder(int64_t a, int64_t b);  // the same
int64_t wrapping_add(int64_t a, int64_t b);
int64_t wrapping_mul(int64_t a, int64_t b);

// The payload of `v` in an integer type (b8: v != 0); u64 keeps the bits.
int64_t wrap_to(DType t, int64_t v);
// The nearest value of a floating type; every NaN becomes one NaN.
double round_to(DType t, double v);

// Nothing where the operation is not folded: division by zero, bad shifts, functions without a
// reference here.
std::optional<int64_t> fold_integer(ExprOp op, DType t, int64_t a, int64_t b);
std::optional<int64_t> fold_integer(ExprOp op, DType t, int64_t a);
std::optional<double> fold_float(ExprOp op, DType t, double a, double b);
std::optional<double> fold_float(ExprOp op, DType t, double a);
bool fold_compare(ExprOp op, const Expr& a, const Expr& b);  // Lt, Le, Eq, Ne on constants of one type

}  // namespace ingot
