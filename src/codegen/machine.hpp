// What one machine's code has that another's has not: instructions that LLVM's IR has no word for,
// and what LLVM must be told beside the processor and its features. What makes functions asks here,
// and in target.hpp how wide vectors are, and names no feature itself. This folder's own.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <string>
#include <utility>
#include <vector>

#include "codegen/target.hpp"

namespace ingot {

// Whether there are instructions between half and float; without them LLVM would call a function
// that a model library has not got.
bool converts_half(const Target& target);

// x 2^n, of float or double, n of x's type and a whole number, rounded as everything is, where one
// instruction does that for x's type: results are denormal and overflow as they should. Else null,
// and nothing is added.
llvm::Value* scaled(llvm::IRBuilder<>& b, const Target& target, llvm::Value* x, llvm::Value* n);

// What modules and functions are marked with.
struct Marks {
  std::vector<const char*> flags;                               // of a module, each 1
  std::vector<std::pair<const char*, std::string>> attributes;  // of each function that it defines
};
Marks marks_of(const Target& target);

}  // namespace ingot
