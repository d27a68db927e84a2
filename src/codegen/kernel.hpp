// One kernel of a loop program to one LLVM function. This folder's own.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <string>
#include <vector>

#include "codegen/target.hpp"
#include "loop/program.hpp"

namespace ingot {

// A kernel's function, of the type `ingot_kernel` of src/model/program.h, and what to call it with.
struct KernelCode {
  llvm::Function* function = nullptr;
  std::vector<int> buffers;  // whose addresses it is given, in order
  Expr tasks, grain;         // how many tasks there are, and how many make a piece of work worth handing to a thread
  Expr scratch_bytes;
};

KernelCode emit_kernel(llvm::Module& module, const loop::Program& program, const loop::Kernel& kernel, const Target& target);

}  // namespace ingot
