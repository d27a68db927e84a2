// The kernels of a model at one level, each code once. This backend's own.
#pragma once
#include <string>
#include <vector>

#include "codegen/main_function.hpp"
#include "codegen/target.hpp"
#include "loop/sized_kernel.hpp"

namespace ingot::cpu {

class KernelSet {
 public:
  // Of a model's programs and those that run once for each set of weights, all of which outlive the
  // set. `prefix` begins the symbols.
  KernelSet(const std::vector<const loop::Program*>& runs, const std::vector<const loop::Program*>& folds, const Target& target,
            const std::string& prefix);

  const KernelUses& uses() const { return uses_; }

  struct Code {
    loop::LoneKernel kernel;
    std::string symbol;
    std::vector<Expr> parameters;  // the numbers it is given
    loop::Kernel example;  // one of the kernels that it is, where it has parameters
    std::vector<int64_t> multiples;  // of all of these (kernel_decisions.hpp)
  };
  // In groups that are compiled each on its own (codegen/level.hpp).
  const std::vector<std::vector<Code>>& groups() const { return groups_; }

 private:
  KernelUses uses_;
  std::vector<std::vector<Code>> groups_;
};

}  // namespace ingot::cpu
