// What lowering rules share.
#pragma once
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/op/lowering.hpp"
#include "op/op.hpp"

namespace ingot {

// One variable for each dim.
inline std::vector<Expr> variables_over(Lowering& l, const Shape& sizes) {
  std::vector<Expr> vars;
  for (Int n : sizes) vars.push_back(l.variable(n.expr()));
  return vars;
}

// The index into an operand of `sizes` that is broadcast to a result indexed by `index`.
inline std::vector<Expr> broadcast_index(std::span<const Expr> index, const Shape& sizes) {
  std::vector<Expr> own(index.end() - static_cast<std::ptrdiff_t>(sizes.size()), index.end());
  for (std::size_t d = 0; d < sizes.size(); d++)
    if (statically_equal(sizes[d], 1)) own[d] = 0;
  return own;
}

// The element of an argument, a tensor that is broadcast or a number, that belongs to an element of
// the result.
inline Expr load_broadcast(Lowering& l, int argument, std::span<const Expr> index) {
  return l.call[argument].is_tensor() ? l.load(argument, broadcast_index(index, l.call.tensor(argument).sizes()))
                                      : l.load(argument, {});
}

// result 0 = argument A, broadcast and converted.
template <int A>
void copy_lower(Lowering& l) {
  const std::vector<Expr> vars = variables_over(l, l.result(0).sizes);
  l.define(0, vars, load_broadcast(l, A, vars));
}
// result 0 is a number everywhere.
inline void fill_lower(Lowering& l, const Expr& value) { l.define(0, variables_over(l, l.result(0).sizes), value); }

// The type elements of a result are computed in.
inline DType compute_dtype(const Lowering& l, int k = 0) { return dtype_of(compute_type(l.result(k).dtype)); }

// Makes the run fail unless every index of the tensor (argument, item of a list) lies in [low,
// size), or `unread` holds.
void check_indices_in_range(Lowering& l, int argument, int item, const Expr& low, const Expr& size, const std::string& message,
                            const Expr& unread = Expr::constant(DType::b8, 0));
// An index that counts from the end where it is negative.
inline Expr wrapped_index(const Expr& i, const Expr& size) { return select(i < Expr(0), i + size, i); }

}  // namespace ingot
