// What folds accumulate with.
#pragma once
#include <llvm/IR/Constant.h>

#include "ingot/expr.hpp"
#include "ingot/op/lowering.hpp"

namespace ingot {

// The operation that takes one more value in.
ExprOp operation_of(Accumulate how);
// What a fold over nothing gives: elements of `t`, which `type` or its lanes hold.
llvm::Constant* identity_of(llvm::Type* type, Accumulate how, DType t);

}  // namespace ingot
