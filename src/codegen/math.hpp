// Mathematical functions over scalars and vectors of float and double, as LLVM IR. This folder's
// own.
//
// exp, exp2, expm1, log, log2, log10, log1p, tanh and erf of float, and exp and log of double, are
// inline code without branches, so a loop over them stays a loop of vectors. Greatest errors in ulp
// stand beside each in math.cpp and are what tests/e2e/math_test.cpp allows, measured over the
// whole range. Infinities, NaN, signed zeros and denormals are what the C library gives. Everything
// else calls libm, lane by lane.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <initializer_list>
#include <string>

#include "codegen/target.hpp"
#include "ingot/expr.hpp"

namespace ingot {

llvm::Value* emit_math(llvm::IRBuilder<>& b, const Target& target, ExprOp op, llvm::Value* x);
llvm::Value* emit_math(llvm::IRBuilder<>& b, ExprOp op, llvm::Value* x, llvm::Value* y);

// A C function of the elements' type, called for each lane.
llvm::Value* call_lanes(llvm::IRBuilder<>& b, const std::string& function, std::initializer_list<llvm::Value*> args);

}  // namespace ingot
