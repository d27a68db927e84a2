// The function that runs a loop program from its first step to its last. For this folder and
// backends.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/target.hpp"
#include "loop/program.hpp"

namespace ingot {

// How a program runs one of its kernels, by a function of the model's runtime
// (src/model/program.h):
//   void runner(ingot_frame*, ingot_kernel* symbol, void* const* buffers, int64_t sizes…)
struct KernelUse {
  struct Place {
    int buffer;  // of the program
    Expr from;   // in elements
  };
  std::string symbol;
  std::vector<Place> places;     // whose addresses it is given, in order
  std::vector<int64_t> numbers;  // that it is given after them
  std::string runner;
  std::vector<Expr> sizes;  // of the program's symbols
};
using KernelUses = std::unordered_map<const loop::Kernel*, KernelUse>;

// The name of a function of an entry at a level: `what` is run, arena or fold.
std::string function_name(const char* what, std::size_t level, std::size_t entry);

// int32_t name(ingot_frame*). It runs the kernels, which are elsewhere, as `kernels` says.
// `constants[k]`: the place of the program's constant k among those of the model.
llvm::Function* emit_main(llvm::Module& module, const loop::Program& program, const std::vector<std::size_t>& constants,
                          const KernelUses& kernels, const Target& target, const std::string& name);

// int64_t name(const int64_t* symbols): the value of an expression over the program's symbols.
llvm::Function* emit_size_function(llvm::Module& module, const loop::Program& program, const Target& target, const Expr& e,
                                   const std::string& name);

}  // namespace ingot
