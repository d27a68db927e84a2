// The intern table: the only place where nodes are made.
#pragma once
#include <string_view>
#include <vector>

#include "ingot/expr.hpp"

namespace ingot {

// The node with these parts, made on first use. Thread-safe. Fills range, hash and depth;
// simplifies nothing.
Expr intern(ExprOp op, DType dtype, std::vector<Expr> args);
// Leaves. `lo` and `hi` count for Sym only.
Expr intern_leaf(ExprOp op, DType dtype, int64_t i, double f, std::string_view name, std::vector<Expr> args, int64_t lo = 0,
                 int64_t hi = 0);

}  // namespace ingot
