// One kernel of a loop program to one LLVM function. This backend's own.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <string>
#include <vector>

#include "codegen/target.hpp"
#include "loop/program.hpp"

namespace ingot::cpu {

// The lanes of a kernel's vectors: as many as a register has of the type that most values have.
int lanes_of(const loop::Program& program, const loop::Kernel& kernel, const Target& target);

// How a kernel's work is cut into tasks.
struct Tasks {
  std::vector<Expr> digits;  // a task's number is written in these
  int64_t chunk = 1;         // of the vectorised outer variable in one task, where there is one
  Expr count, grain;         // how many tasks there are, and how many make a piece of work worth handing to a thread
};
// `example`: the kernel, or one of those that it stands for (KernelCode).
Tasks tasks_of(const loop::Program& program, const loop::Kernel& kernel, const loop::Kernel& example, const Target& target);

// The buffers whose addresses a kernel's function is given, in order.
std::vector<int> arguments_of(const loop::Program& program, const loop::Kernel& kernel);

// A kernel that stands for several: it is given the numbers by which these differ, and decides as
// `example`, one of them.
struct KernelCode {
  const loop::Program& program;
  const loop::Kernel& kernel;
  const std::vector<Expr>& parameters;
  const loop::Kernel& example;
  const std::vector<int64_t>& multiples;  // kernel_decisions.hpp, of all of them
};
// Its function under this name, of the type `ingot_kernel` of src/model/program.h; the parameters
// come after the buffers.
llvm::Function* emit_kernel(llvm::Module& module, const KernelCode& code, const Target& target, const std::string& name);

}  // namespace ingot::cpu
