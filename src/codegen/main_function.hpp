// The function that runs a loop program from its first step to its last. This folder's own.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <string>

#include "codegen/kernel_set.hpp"
#include "codegen/target.hpp"
#include "loop/program.hpp"

namespace ingot {

// int32_t name(ingot_frame*). It calls the kernels of the set, which are elsewhere. `constants[k]`: the place of the program's constant k
// among those of the model.
llvm::Function* emit_main(llvm::Module& module, const loop::Program& program, const std::vector<std::size_t>& constants,
                          const KernelSet& kernels, const Target& target, const std::string& name);

// int64_t name(const int64_t* symbols): the value of an expression over the program's symbols.
llvm::Function* emit_size_function(llvm::Module& module, const loop::Program& program, const Target& target, const Expr& e,
                                   const std::string& name);

}  // namespace ingot
