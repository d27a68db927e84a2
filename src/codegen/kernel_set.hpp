// The kernels of a model at one level, each code once. This folder's own.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/target.hpp"
#include "loop/sized_kernel.hpp"

namespace ingot {

class KernelSet {
 public:
  // How a program calls one of its kernels.
  struct Use {
    std::string symbol;
    struct Place {
      int buffer;  // of the program
      Expr from;   // in elements
    };
    std::vector<Place> places;     // whose addresses it is given, in order
    std::vector<int64_t> numbers;  // that it is given after them
    Expr tasks, grain, scratch_bytes;
  };

  // Of a model's programs and those that run once for each set of weights, all of which outlive the set. `prefix` begins the
  // symbols.
  KernelSet(const std::vector<const loop::Program*>& runs, const std::vector<const loop::Program*>& folds, const Target& target,
            const std::string& prefix);

  const Use& use_of(const loop::Kernel& kernel) const { return uses_.at(&kernel); }

  struct Code {
    loop::LoneKernel kernel;
    std::string symbol;
    std::vector<Expr> parameters;  // the numbers it is given
    loop::Kernel example;  // one of the kernels that it is, where it has parameters
  };
  // In groups that are compiled each on its own. How they are cut depends on the kernels alone, and not on how many threads
  // there are to compile them.
  const std::vector<std::vector<Code>>& groups() const { return groups_; }

 private:
  std::unordered_map<const loop::Kernel*, Use> uses_;
  std::vector<std::vector<Code>> groups_;
};

}  // namespace ingot
