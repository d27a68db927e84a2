// One step of a loop program to one LLVM function. This folder's own.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <span>
#include <string>
#include <vector>

#include "loop/program.hpp"

namespace ingot {

// An internal function over the step's buffers: void name(const int64_t* sizes, void* buffer…), in the order of
// loop::buffers_of(step). Buffers are told not to alias: a step never writes what it reads.
llvm::Function* emit_kernel(llvm::Module& module, const loop::Program& program, const loop::Step& step, const std::string& name);

// The values of the program's symbols, read from `sizes` at the builder's position.
std::vector<llvm::Value*> load_symbols(llvm::IRBuilder<>& builder, const loop::Program& program, llvm::Value* sizes);

}  // namespace ingot
