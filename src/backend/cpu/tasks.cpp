// How the work of a kernel is cut into tasks.
#include <algorithm>

#include "backend/cpu/kernel.hpp"
#include "backend/cpu/kernel_decisions.hpp"
#include "base/dtype.hpp"
#include "base/index.hpp"

namespace ingot::cpu {
namespace {

using loop::Fold;
using loop::Nest;
using loop::Store;

// Elements of the vectorised outer variable in one task: long enough to amortise the call, short
// enough to share.
constexpr int64_t kPointwiseChunk = 2048, kNestedChunk = 64;
// Issue slots that are worth handing to another thread, about five microseconds.
constexpr int64_t kWorthwhile = 12500;
// Those that pass while a line of memory, which another processor may have, is waited for.
constexpr int64_t kSlotsOfALine = 16;
// Those that it takes to know one value of a variable from the number of its task, and to begin and
// end with what is no whole vector.
constexpr int64_t kSlotsOfADigit = 24;
constexpr int64_t kGuessedExtent = 64;

int64_t guess(const Expr& extent) { return extent.is_const() ? extent->i : kGuessedExtent; }

int64_t slots_of(const Nest& n) {
  int64_t slots = 4;
  for (const Fold& f : n.folds) slots += cost(f.body) + 1;
  for (const Store& s : n.stores) slots += cost(s.value) + 1;
  for (const Expr& v : n.vars) slots *= std::max<int64_t>(1, guess(v.arg(0)));
  return slots;
}

bool only_wide_types(const loop::Program& program, const loop::Kernel& kernel) {
  bool narrow = kernel.product.has_value();
  for (int b : buffers_of(loop::Step(kernel))) narrow = narrow || size_of(program.buffers[at(b)].dtype) < 8;
  return !narrow;
}

}  // namespace

int lanes_of(const loop::Program& program, const loop::Kernel& kernel, const Target& target) {
  return vector_bits(target) / (only_wide_types(program, kernel) ? 64 : 32);
}

Tasks tasks_of(const loop::Program& program, const loop::Kernel& kernel, const loop::Kernel& example, const Target& target) {
  Tasks tasks;
  const int lanes = lanes_of(program, kernel, target);
  const auto extent = [&](std::size_t k) { return kernel.outer[k].arg(0); };
  const std::optional<Turn> turn = turn_of(example, lanes);
  const std::size_t whole = kernel.outer.size() - (turn ? 2 : kernel.across ? 1 : 0);
  for (std::size_t k = 0; k < whole; k++) tasks.digits.push_back(extent(k));
  if (turn) {
    tasks.digits.push_back(floor_div(extent(whole) + (lanes - 1), lanes));
  } else if (kernel.across) {
    const bool nested = std::any_of(kernel.nests.begin(), kernel.nests.end(), [](const Nest& n) { return !n.vars.empty(); });
    tasks.chunk = nested ? kNestedChunk : kPointwiseChunk;
    tasks.digits.push_back(floor_div(extent(whole) + (tasks.chunk - 1), tasks.chunk));
  }
  int64_t slots = 0;
  for (const Nest& n : kernel.nests) slots += slots_of(n);
  if (const auto& x = kernel.product) {
    int64_t terms = 2 * guess(x->row.arg(0)) * guess(x->column.arg(0));
    for (const auto* vars : {&x->vars, &x->k})
      for (const Expr& v : *vars) terms *= guess(v.arg(0));
    slots += terms;
  }
  if (turn) slots = (slots + kSlotsOfALine) * turn->neighbours;
  else if (kernel.across) slots = slots * std::min(tasks.chunk, guess(extent(whole))) / lanes;
  else slots /= lanes;
  tasks.count = 1;
  for (const Expr& d : tasks.digits) tasks.count = tasks.count * d;
  slots += kSlotsOfADigit * static_cast<int64_t>(tasks.digits.size());
  tasks.grain = std::max<int64_t>(1, kWorthwhile / std::max<int64_t>(1, slots));
  return tasks;
}

}  // namespace ingot::cpu
