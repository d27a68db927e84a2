// How the loops over the steps of a product are written out, so that the processor multiplies where
// it would count and compare. This backend's own.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "ingot/expr.hpp"

namespace ingot::cpu {

struct Unroll {
  std::size_t whole = 0;  // so many of the last variables have no loop at all
  int64_t steps = 1;      // and so many values of the one before are done at once;
  bool divides = false;   // their number is a multiple of that
};

// Of the loops over `vars`, the first of which may be done in blocks of `block` values.
inline Unroll unroll_of(std::span<const Expr> vars, int64_t block = 0) {
  // More than a dozen steps are more code and no less time; fewer than four leave gaps.
  constexpr int64_t kMostWhole = 12, kSteps = 4;
  Unroll u;
  int64_t within = 1;
  while (u.whole + 1 < vars.size()) {
    const Expr& extent = vars[vars.size() - 1 - u.whole].arg(0);
    if (!extent.is_const() || within * extent->i > kMostWhole) break;
    within *= extent->i;
    u.whole++;
  }
  u.steps = std::max<int64_t>(1, kSteps / std::max<int64_t>(1, within));
  if (vars.empty()) return u;
  const std::size_t at = vars.size() - 1 - u.whole;
  const Expr& extent = vars[at].arg(0);
  u.divides = extent.is_const() && extent->i % u.steps == 0 && (at > 0 || block % u.steps == 0);
  return u;
}

}  // namespace ingot::cpu
