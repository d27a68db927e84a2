#include "backend/cpu/kernel_decisions.hpp"

#include <algorithm>

#include "backend/cpu/kernel.hpp"
#include "backend/cpu/product_layout.hpp"
#include "base/dtype.hpp"
#include "base/long_sum.hpp"
#include "loop/lone_kernel.hpp"

namespace ingot::cpu {

using loop::Fold;
using loop::Nest;

namespace {

// Issue slots of independent work in one iteration that leave a processor nothing to wait for.
constexpr int kBusy = 96;
// More values of the last variable are rather cut into tasks; of fewer there is no block.
constexpr int64_t kFewestTurned = 4, kMostTurned = 64;
// Compiling a multiplication of two vectors, with its part of what is loaded for it, in nodes.
constexpr int64_t kOfMultiplication = 3;

}  // namespace

bool is_summed_in_blocks(const Fold& f) {
  if (f.how != Accumulate::sum || !is_floating(f.body.dtype())) return false;
  return !(f.body.op() == ExprOp::Cast && f.body.dtype() == DType::f64 && size_of(f.body.arg(0).dtype()) < 8);
}

std::optional<Blocks> blocks_for(const Nest& n, int step) {
  if (std::none_of(n.folds.begin(), n.folds.end(), is_summed_in_blocks)) return std::nullopt;
  return blocks_of(n.vars, kTermsOfOneSum, step);
}

int copies_of(const Target& target) { return arch_of(target) == Arch::aarch64 || vector_bits(target) >= 512 ? 4 : 2; }

int copies_of(const loop::Kernel& kernel, const Target& target) {
  int busy = 0;
  for (const Nest& n : kernel.nests) {
    if (!n.folds.empty()) return copies_of(target);
    int slots = 0;
    for (const loop::Store& s : n.stores) slots += cost(s.value);
    busy = std::max(busy, slots);
  }
  return std::clamp(kBusy / std::max(busy, 1), 1, copies_of(target));
}

std::vector<int64_t> multiples_of(const loop::Kernel& kernel) {
  const auto multiple = [](const std::vector<Expr>& vars) {
    return !vars.empty() && vars.back().arg(0).is_const() ? vars.back().arg(0)->i : 1;
  };
  if (kernel.across) return {multiple(kernel.outer)};
  std::vector<int64_t> all;
  for (const Nest& n : kernel.nests) all.push_back(multiple(n.vars));
  return all;
}

std::optional<Turn> turn_of(const loop::Kernel& kernel, int lanes) {
  if (!kernel.across || kernel.outer.size() < 2 || kernel.nests.size() != 1) return std::nullopt;
  const Nest& n = kernel.nests[0];
  if (!n.vars.empty() || !n.folds.empty() || n.stores.size() != 1) return std::nullopt;
  const Expr &along = kernel.outer[kernel.outer.size() - 2], &last = kernel.outer.back(), &store = n.stores[0].offset;
  if (!along.arg(0).is_const() || along.arg(0)->i < lanes || !last.arg(0).is_const() || last.arg(0)->i < kFewestTurned ||
      last.arg(0)->i > kMostTurned)
    return std::nullopt;
  const auto is_one = [](const std::optional<Expr>& step) { return step && step->is_const(1); };
  if (!is_one(stride(store, last)) || !stride(store, along)) return std::nullopt;
  bool turns = false, fits = true;
  visit(n.stores[0].value, [&](const Expr& x) {
    if (x.op() != ExprOp::Load) return;
    fits = fits && x->i != n.stores[0].out;  // some values are stored twice
    if (!depends(x.arg(0), last)) return;
    const bool is_turned = is_one(stride(x.arg(0), along)) && !is_one(stride(x.arg(0), last));
    turns = turns || is_turned;
    fits = fits && is_turned;
  });
  return turns && fits ? std::optional(Turn{last.arg(0)->i}) : std::nullopt;
}

std::vector<int64_t> decisions_of(const loop::Program& program, const loop::Kernel& kernel, const Target& target) {
  std::vector<int64_t> all;
  const auto add = [&](const std::optional<Blocks>& b) {
    all.push_back(b ? static_cast<int64_t>(b->level) : -1);
    all.push_back(b ? b->size : -1);
  };
  if (kernel.product) {
    add(blocks_of(*kernel.product));
    const Unroll unroll = unroll_of(*kernel.product);
    all.insert(all.end(), {static_cast<int64_t>(unroll.whole), unroll.steps, unroll.divides});
    const std::vector<Expr> steps = layout_of(*kernel.product)->steps;
    for (std::size_t i = steps.size() - unroll.whole; i < steps.size(); i++) all.push_back(steps[i].arg(0)->i);
  }
  const int step = kernel.across ? 1 : copies_of(target) * lanes_of(program, kernel, target);
  for (const Nest& n : kernel.nests) add(blocks_for(n, step));
  const std::optional<Turn> turn = turn_of(kernel, lanes_of(program, kernel, target));
  all.push_back(turn ? turn->neighbours : 0);
  return all;
}

int64_t size_of_code(const loop::Program& program, const loop::Kernel& kernel, const Target& target) {
  int64_t nodes = loop::size_of_code(kernel);
  if (!kernel.product) return nodes;
  const ProductLayout layout = *layout_of(*kernel.product);
  const Unroll unroll = unroll_of(*kernel.product);
  int64_t steps = unroll.divides ? unroll.steps : unroll.steps + 1;
  for (std::size_t k = layout.steps.size() - unroll.whole; k < layout.steps.size(); k++) steps *= layout.steps[k].arg(0)->i;
  return nodes + kOfMultiplication * steps * layout.rows * (layout.columns / lanes_of(program, kernel, target));
}

}  // namespace ingot::cpu
