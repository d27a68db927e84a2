// Interval arithmetic over int64. The smallest and largest int64_t stand for unbounded ends; a
// lower end is never the largest and an upper end never the smallest.
#pragma once
#include <cstdint>
#include <limits>

#include "ingot/expr.hpp"

namespace ingot {

struct Range {
  static constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kMax = kUnbounded;
  int64_t lo = kMin, hi = kMax;

  bool operator==(const Range&) const = default;
  bool inside(Range o) const { return lo >= o.lo && hi <= o.hi; }
};

Range exactly(int64_t v);
Range operator+(Range a, Range b);
Range operator*(Range a, Range b);
Range either(Range a, Range b);  // the hull
Range of_dtype(DType t);         // all values of the type
// The range of a node from its operands' ranges; only op, dtype, payload and args are read (lo and
// hi of a Sym).
Range range_of(const ExprNode& n);

}  // namespace ingot
