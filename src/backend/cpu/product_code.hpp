// The code of a product: a block's rows times all panels, each block of sums in registers from the
// first step to the last. This backend's own.
#pragma once
#include <vector>

#include "backend/cpu/loops.hpp"
#include "codegen/expression.hpp"
#include "codegen/target.hpp"
#include "loop/program.hpp"

namespace ingot::cpu {

// A kernel with a product, and where its code goes.
struct ProductSite {
  llvm::IRBuilder<>& builder;
  ExpressionEmitter& expressions;
  Loops& loops;
  const Target& target;
  const loop::Program& program;
  const loop::Kernel& kernel;
  const loop::Kernel& example;  // KernelCode::example
  const std::vector<llvm::Value*>& pointers;  // by buffer
  int lanes;
};

void emit_product(const ProductSite& site);

}  // namespace ingot::cpu
