// One kernel of a loop program to one LLVM function. This folder's own.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <string>
#include <vector>

#include "codegen/target.hpp"
#include "loop/program.hpp"

namespace ingot {

// The lanes of a kernel's vectors: as many as a register has of the type that most values have.
int lanes_of(const loop::Program& program, const loop::Kernel& kernel, const Target& target);

// How a kernel's work is cut into tasks.
struct Tasks {
  std::vector<Expr> digits;  // a task's number is written in these
  int64_t chunk = 1;         // of the vectorised outer variable in one task, where there is one
  Expr count, grain;         // how many tasks there are, and how many make a piece of work worth handing to a thread
};
Tasks tasks_of(const loop::Program& program, const loop::Kernel& kernel, const Target& target);

// The buffers whose addresses a kernel's function is given, in order.
std::vector<int> arguments_of(const loop::Program& program, const loop::Kernel& kernel);

// The function of the kernel under this name, of the type `ingot_kernel` of src/model/program.h.
llvm::Function* emit_kernel(llvm::Module& module, const loop::Program& program, const loop::Kernel& kernel, const Target& target,
                            const std::string& name);

}  // namespace ingot
