// Sums and products of many elements in compiled code, carried so that their length costs no
// digits: floats in double, as the eager folds do (ops/reduce/fold.hpp). They are of the carried
// type; who uses one converts it once.
#pragma once
#include <utility>
#include <vector>

#include "base/dtype.hpp"
#include "ingot/op/lowering.hpp"
#include "op/op.hpp"

namespace ingot {

inline DType carried_dtype(DType t) { return t == DType::f32 ? DType::f64 : t; }

inline Expr carried_fold(Lowering& l, Accumulate how, std::vector<Expr> over, const Expr& body) {
  return l.fold(how, std::move(over), cast(carried_dtype(body.dtype()), body));
}

}  // namespace ingot
