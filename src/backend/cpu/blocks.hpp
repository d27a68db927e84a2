// Long loops over sums, cut into blocks: what a block adds up is then poured into wider sums. This
// backend's own.
#pragma once
#include <algorithm>
#include <optional>
#include <span>

#include "ingot/expr.hpp"

namespace ingot::cpu {

// vars[level], of loops from the outermost to the innermost, is cut into blocks of `size` values.
struct Blocks {
  std::size_t level;
  int64_t size;
};

// The cut that leaves at most `most` iterations to a block; nothing where there are no more than
// that altogether. An extent that is not known yet is taken for a long one. An iteration takes
// `step` values of the last variable.
inline std::optional<Blocks> blocks_of(std::span<const Expr> vars, int64_t most, int64_t step = 1) {
  int64_t within = 1;
  for (std::size_t level = vars.size(); level-- > 0;) {
    const int64_t unit = level + 1 == vars.size() ? step : 1;
    const Expr& extent = vars[level].arg(0);
    const int64_t room = std::max<int64_t>(1, most / within) * unit;
    if (!extent.is_const() || extent->i > room) return Blocks{level, room};
    // Fewer values than a step has are iterations of their own.
    within *= std::max<int64_t>({1, extent->i / unit, std::min(extent->i, unit)});
  }
  return std::nullopt;
}

}  // namespace ingot::cpu
