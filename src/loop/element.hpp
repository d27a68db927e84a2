// A tensor value during lowering: what its element at an index is. Views and formulas stay functions of the index until
// somebody stores them.
#pragma once
#include <functional>

#include "expr/expr.hpp"
#include "graph/graph.hpp"

namespace ingot::loop {

using Index = std::span<const Expr>;

struct Elements {
  Shape sizes;
  DType dtype = DType::f32;
  std::function<Expr(Index)> at;
  int buffer = -1;  // where they are stored as they are; -1: nowhere
};

// The results of a view, from the op's geometry rule over a dense row-major base. User error for views that speak of the
// storage and not of the base's elements, unless that makes no difference.
std::vector<Elements> view_elements(const Call& call, const Elements& base);

// The result of a formula. arguments[k] is empty (no `at`) where argument k is no tensor.
Elements formula_elements(const Call& call, const Geometry& result, const std::vector<Elements>& arguments);

// A number as a constant, or an expression of sizes, of type `t`.
Expr number(DType t, const Value& v);

}  // namespace ingot::loop
