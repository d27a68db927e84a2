#include "codegen/accumulate.hpp"

#include <llvm/IR/Constants.h>

#include "base/dtype.hpp"

namespace ingot {

ExprOp operation_of(Accumulate how) {
  switch (how) {
    case Accumulate::sum: return ExprOp::Add;
    case Accumulate::product: return ExprOp::Mul;
    case Accumulate::min: return ExprOp::Min;
    case Accumulate::max: return ExprOp::Max;
    case Accumulate::all: return ExprOp::And;
    case Accumulate::any: return ExprOp::Or;
  }
  return ExprOp::Add;
}

llvm::Constant* identity_of(llvm::Type* type, Accumulate how, DType t) {
  const bool lowest = how == Accumulate::max, highest = how == Accumulate::min;
  if (is_floating(t)) {
    if (lowest || highest) return llvm::ConstantFP::getInfinity(type, lowest);
    return llvm::ConstantFP::get(type, how == Accumulate::product ? 1 : 0);
  }
  const unsigned bits = type->getScalarSizeInBits();
  const bool has_sign = is_signed_integral(t);
  if (highest)
    return llvm::ConstantInt::get(type, has_sign ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits));
  if (lowest)
    return llvm::ConstantInt::get(type, has_sign ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getMinValue(bits));
  return llvm::ConstantInt::get(type, how == Accumulate::product || how == Accumulate::all ? 1 : 0);
}

}  // namespace ingot
