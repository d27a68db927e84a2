// Arithmetic of the texts in sym_expression.hpp: expressions of which quotients of integers are
// exact.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "ingot/expr.hpp"

namespace ingot {

struct SymNumber {
  Expr top;
  Expr bottom = Expr(1);  // i64, never a constant below 1; 1 where top is no i64

  SymNumber() = default;
  SymNumber(Expr e) : top(std::move(e)) {}
  bool is_bool() const { return top.dtype() == DType::b8; }
  bool is_real() const { return top.dtype() == DType::f64; }
  bool is_whole() const { return top.dtype() == DType::i64 && bottom.is_const(1); }
};

// The value as an integer: a quotient is known to divide, a bool counts as 0 or 1. User error for a
// double.
Expr sym_integer(const SymNumber& n);
Expr sym_real(const SymNumber& n);
Expr sym_bool(const SymNumber& n);

SymNumber sym_add(const SymNumber& a, const SymNumber& b);
SymNumber sym_subtract(const SymNumber& a, const SymNumber& b);
SymNumber sym_multiply(const SymNumber& a, const SymNumber& b);
SymNumber sym_divide(const SymNumber& a, const SymNumber& b);  // exact
SymNumber sym_floor_divide(const SymNumber& a, const SymNumber& b);
SymNumber sym_modulo(const SymNumber& a, const SymNumber& b);  // has the sign of b
SymNumber sym_power(const SymNumber& a, const SymNumber& b);
// "Lt", "Le", "Eq", "Ne", "Gt", "Ge"
SymNumber sym_compare(std::string_view relation, const SymNumber& a, const SymNumber& b);

// A function of section 9.2 by name (without Symbol, Integer and the other leaves, which only the
// parser can read). User error for a wrong number of arguments; throws UnknownSymFunction.
SymNumber sym_call(std::string_view name, std::span<const SymNumber> args);

}  // namespace ingot
