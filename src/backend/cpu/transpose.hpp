// Blocks of a matrix in registers. This backend's own.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <vector>

namespace ingot::cpu {

// Requires: `rows` are vectors of n elements, a power of two, and no more than n of them.
// Ensures: n vectors of rows.size() elements; element i of the k-th was element k of rows[i].
std::vector<llvm::Value*> transposed(llvm::IRBuilder<>& b, std::vector<llvm::Value*> rows);

}  // namespace ingot::cpu
