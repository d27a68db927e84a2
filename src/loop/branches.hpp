// Quotients in addresses, and what holds in the branches of a select.
#pragma once
#include "ingot/expr.hpp"

namespace ingot::loop {

// Whether a quotient or a remainder of something with `x` in it is part of `e`.
bool divides(const Expr& e, const Expr& x);

// `e` with each select's branches in terms of what its condition says there, if that compares with
// a number: below 64 a value is its own remainder by 64. `fresh` is the number of no variable in
// `e`.
Expr with_known_branches(const Expr& e, int64_t fresh);

}  // namespace ingot::loop
