#include "expr/range.hpp"

#include <algorithm>

#include "base/dtype.hpp"
#include "expr/scalar.hpp"

namespace ingot {
namespace {

using Wide = __int128;

int64_t as_lower(Wide v) { return static_cast<int64_t>(std::clamp<Wide>(v, Range::kMin, Range::kMax - 1)); }
int64_t as_upper(Wide v) { return static_cast<int64_t>(std::clamp<Wide>(v, Range::kMin + 1, Range::kMax)); }

bool unbounded(int64_t v) { return v == Range::kMin || v == Range::kMax; }

// Zero times an unbounded end is zero: every finite value in the range times zero is.
Wide corner(int64_t a, int64_t b) {
  constexpr Wide kHuge = Wide{1} << 100;
  if (a == 0 || b == 0) return 0;
  if (unbounded(a) || unbounded(b)) return (a < 0) == (b < 0) ? kHuge : -kHuge;
  return Wide{a} * b;
}

Range floor_div_range(Range x, Range d) {
  if (d.lo < 0) return {};
  const int64_t small = std::max<int64_t>(d.lo, 1), large = std::max<int64_t>(d.hi, 1);
  auto quotient = [](int64_t a, int64_t b) { return b == Range::kMax ? (a < 0 ? -1 : 0) : floor_quotient(a, b); };
  Range r;
  if (x.lo != Range::kMin) r.lo = std::min(quotient(x.lo, small), quotient(x.lo, large));
  if (x.hi != Range::kMax) r.hi = std::max(quotient(x.hi, small), quotient(x.hi, large));
  return r;
}

Range mod_range(Range x, Range d) {
  if (d.lo < 0) return {};
  Range r{0, d.hi == Range::kMax ? Range::kMax : std::max<int64_t>(d.hi - 1, 0)};
  if (x.lo >= 0) r.hi = std::min(r.hi, x.hi);
  return r;
}

Range negated(Range a) {
  return {a.hi == Range::kMax ? Range::kMin : as_lower(-Wide{a.hi}), a.lo == Range::kMin ? Range::kMax : as_upper(-Wide{a.lo})};
}

Range abs_range(Range a) {
  if (a.lo >= 0) return a;
  const Range n = negated(a);
  if (a.hi <= 0) return n;
  return {0, std::max(a.hi, n.hi)};
}

Range exact_range(const ExprNode& n) {
  auto arg = [&](std::size_t k) { return Range{n.args[k]->lo, n.args[k]->hi}; };
  switch (n.op) {
    case ExprOp::Add: {
      Range r = arg(0);
      for (std::size_t k = 1; k < n.args.size(); k++) r = r + arg(k);
      return r;
    }
    case ExprOp::Mul: {
      Range r = arg(0);
      for (std::size_t k = 1; k < n.args.size(); k++) r = r * arg(k);
      return r;
    }
    case ExprOp::FloorDiv: return floor_div_range(arg(0), arg(1));
    case ExprOp::Mod: return mod_range(arg(0), arg(1));
    case ExprOp::Min: return {std::min(arg(0).lo, arg(1).lo), std::min(arg(0).hi, arg(1).hi)};
    case ExprOp::Max: return {std::max(arg(0).lo, arg(1).lo), std::max(arg(0).hi, arg(1).hi)};
    case ExprOp::Select: return either(arg(1), arg(2));
    case ExprOp::Neg: return negated(arg(0));
    case ExprOp::Abs: return abs_range(arg(0));
    case ExprOp::Sign: return {std::clamp<int64_t>(arg(0).lo, -1, 1), std::clamp<int64_t>(arg(0).hi, -1, 1)};
    case ExprOp::BitAnd:
      if (arg(0).lo < 0 || arg(1).lo < 0) return {};
      return {0, std::min(arg(0).hi, arg(1).hi)};
    case ExprOp::Cast: return is_floating(n.args[0].dtype()) ? Range{} : arg(0);
    default: return {};
  }
}

}  // namespace

Range exactly(int64_t v) { return {as_lower(v), as_upper(v)}; }

Range operator+(Range a, Range b) {
  return {a.lo == Range::kMin || b.lo == Range::kMin ? Range::kMin : as_lower(Wide{a.lo} + b.lo),
          a.hi == Range::kMax || b.hi == Range::kMax ? Range::kMax : as_upper(Wide{a.hi} + b.hi)};
}

Range operator*(Range a, Range b) {
  const Wide c[] = {corner(a.lo, b.lo), corner(a.lo, b.hi), corner(a.hi, b.lo), corner(a.hi, b.hi)};
  return {as_lower(*std::min_element(c, c + 4)), as_upper(*std::max_element(c, c + 4))};
}

Range either(Range a, Range b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

Range of_dtype(DType t) {
  if (t == DType::b8) return {0, 1};
  if (t == DType::u64) return {0, Range::kMax};
  if (!is_integral(t) || t == DType::i64) return {};
  const int bits = 8 * size_of(t);
  if (is_signed_integral(t)) return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
  return {0, (int64_t{1} << bits) - 1};
}

Range range_of(const ExprNode& n) {
  if (is_floating(n.dtype)) return {};
  const Range all = of_dtype(n.dtype);
  if (n.op == ExprOp::Const) return n.dtype == DType::u64 && n.i < 0 ? all : exactly(n.i);
  if (n.op == ExprOp::Sym) return {n.lo, n.hi};
  if (n.op == ExprOp::Idx) {
    const int64_t end = n.args[0]->hi;
    return {0, end == Range::kMax ? end : std::max<int64_t>(end - 1, 0)};
  }
  if (n.dtype == DType::b8) return all;
  const Range r = exact_range(n);
  // A result that may leave the type wraps to anywhere in it. u64 ranges stop at the largest
  // int64_t.
  return r.inside(all) && !(n.dtype == DType::u64 && r.hi == Range::kMax) ? r : all;
}

}  // namespace ingot
