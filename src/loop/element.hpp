// A tensor value during lowering: what its element at an index is. Views and formulas stay
// functions of the index until somebody stores them.
#pragma once
#include <functional>

#include "graph/graph.hpp"
#include "ingot/expr.hpp"

namespace ingot::loop {

using Index = std::span<const Expr>;

struct Elements {
  Shape sizes;
  DType dtype = DType::f32;
  std::function<Expr(Index)> at;
  int buffer = -1;  // where they are stored as they are; -1: nowhere
};

// Whether a call can be an index map or an expression: what cannot looks at the storage and not at
// elements, changes the dtype, or computes with complex numbers.
bool can_map_view(const Call& call, const Elements& base);
bool can_map_formula(const Call& call);
// Whether an argument or list of arguments has complex elements.
bool any_complex(const Call& call);

// The results of a view, from the op's geometry rule over a dense row-major base.
// Requires can_map_view.
std::vector<Elements> view_elements(const Call& call, const Elements& base);

// The result of a formula. Requires can_map_formula. arguments[k] is empty (no `at`) where argument
// k is no tensor.
Elements formula_elements(const Call& call, const Geometry& result, const std::vector<Elements>& arguments);

// A number as a constant, or an expression of sizes, of type `t`.
Expr number(DType t, const Value& v);

}  // namespace ingot::loop
