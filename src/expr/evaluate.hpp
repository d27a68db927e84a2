// The value of an integer or bool expression for given sizes.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "ingot/expr.hpp"

namespace ingot {

// Bool results are 0 and 1. `leaf` gives the value of a Sym, Idx, Tmp or Load. User error on
// overflow and division by zero; internal error for an expression that is itself a float.
int64_t evaluate(const Expr& e, const std::function<int64_t(const Expr& leaf)>& leaf);
// The same for an expression of floating type over integer leaves.
double evaluate_real(const Expr& e, const std::function<int64_t(const Expr& leaf)>& leaf);
// Values of symbols by name.
using SymbolValues = std::map<std::string, int64_t, std::less<>>;
// A symbol that is not there, or another leaf, is a user error.
int64_t evaluate(const Expr& e, const SymbolValues& symbols);

}  // namespace ingot
