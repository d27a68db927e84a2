#include "backend/cpu/kernel_decisions.hpp"

#include <algorithm>

#include "backend/cpu/kernel.hpp"
#include "base/dtype.hpp"

namespace ingot::cpu {

using loop::Fold;
using loop::Nest;

bool is_summed_in_blocks(const Fold& f) {
  if (f.how != Accumulate::sum || !is_floating(f.body.dtype())) return false;
  return !(f.body.op() == ExprOp::Cast && f.body.dtype() == DType::f64 && size_of(f.body.arg(0).dtype()) < 8);
}

std::optional<Blocks> blocks_for(const Nest& n, int step) {
  if (std::none_of(n.folds.begin(), n.folds.end(), is_summed_in_blocks)) return std::nullopt;
  return blocks_of(n.vars, loop::kTermsOfOneSum, step);
}

int copies_of(const Target& target) { return arch_of(target) == Arch::aarch64 || vector_bits(target) >= 512 ? 4 : 2; }

std::vector<int64_t> decisions_of(const loop::Program& program, const loop::Kernel& kernel, const Target& target) {
  std::vector<int64_t> all;
  const auto add = [&](const std::optional<Blocks>& b) {
    all.push_back(b ? static_cast<int64_t>(b->level) : -1);
    all.push_back(b ? b->size : -1);
  };
  if (kernel.product) add(blocks_of(kernel.product->k, loop::kTermsOfOneSum));
  const int step = kernel.across ? 1 : copies_of(target) * lanes_of(program, kernel, target);
  for (const Nest& n : kernel.nests) add(blocks_for(n, step));
  return all;
}

}  // namespace ingot::cpu
