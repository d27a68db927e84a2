// What debuggers and profilers are told of kernels: the line of the program that a kernel computes.
// For this folder and backends.
#pragma once
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/Module.h>

#include <optional>
#include <string>

#include "codegen/model.hpp"

namespace ingot {

// For the functions of one module. Says nothing where the model has no sources.
class DebugInfo {
 public:
  DebugInfo(llvm::Module& module, const Model& model);
  ~DebugInfo();
  DebugInfo(const DebugInfo&) = delete;
  DebugInfo& operator=(const DebugInfo&) = delete;

  // All of the kernel's function, and of the body that it calls, is at the line of its node. A
  // kernel is named like the node, or like the node and a part of it: `addmm`, `addmm.packed`.
  void describe(llvm::Function* entry, const std::string& kernel);

 private:
  const Model& model_;
  std::optional<llvm::DIBuilder> builder_;

  void place(llvm::Function& f, const std::string& name, const Model::Source& source);
};

}  // namespace ingot
