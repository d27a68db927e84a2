// The floating types that are computed in float: to float and back, for scalars and vectors. This
// folder's own.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include "base/dtype.hpp"
#include "codegen/target.hpp"

namespace ingot {

// `bits` is an integer (vector) of the type's width. Exact; NaN stays NaN.
llvm::Value* widen_small_float(llvm::IRBuilder<>& b, const Target& target, llvm::Value* bits, DType t);
// Rounds to nearest, ties to even, as eager does (base/half.hpp).
llvm::Value* narrow_to_small_float(llvm::IRBuilder<>& b, const Target& target, llvm::Value* x, DType t);

}  // namespace ingot
