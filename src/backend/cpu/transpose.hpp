// Blocks of a matrix in registers. This backend's own.
#pragma once
#include <llvm/IR/Module.h>

#include <cstdint>

namespace ingot::cpu {

// The module's function (block, to, step) that turns `count` vectors of n elements, a power of two
// and no less than `count`, which lie one after the other at `block`: element k of each of them, in
// order, goes to `to` + k * step, in elements. One for all kernels that do: LLVM takes long to
// choose its instructions.
llvm::Function* turning_function(llvm::Module& module, llvm::Type* vector, int64_t count);

}  // namespace ingot::cpu
