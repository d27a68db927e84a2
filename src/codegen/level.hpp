// The object code of one level of a model. For backends, whose kernels are in it.
#pragma once
#include <functional>
#include <vector>

#include "codegen/main_function.hpp"
#include "codegen/model.hpp"

namespace ingot {

// The kernels of all programs of a level.
struct LevelKernels {
  const KernelUses& uses;
  // They are compiled in groups, each a module of its own. Which these are depends on the programs
  // alone, and not on how many threads there are to compile them.
  std::size_t groups;
  std::function<void(llvm::Module& module, std::size_t group)> emit;  // called by several threads at a time
};

// The functions of the level's entries, for its host, and the kernels that they run, for its
// target, compiled by all threads. The same however many there are. With `text`, unless it is null,
// which is given the code as people read it, too.
std::vector<Object> generate_level(const Model& model, std::size_t level, const LevelKernels& kernels, CodeText* text);

}  // namespace ingot
