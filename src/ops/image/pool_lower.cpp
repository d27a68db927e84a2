// Pooling as loops.
//
// A maximum is found dim by dim, the last one last: rows are compared with rows, all of their
// elements side by side, and only what is left with its neighbours. A tap that lies outside reads
// the nearest element inside instead: without dilation that is one of the window (which reaches
// inside, as the shape rule sees to), and a maximum does not mind to meet it twice.
//
// An average is a sum over all taps, in the order in which eager adds them up. One that lies
// outside adds nothing.
#include "ops/common/lower_rules.hpp"
#include "ops/image/pool_window.hpp"
#include "ops/reduce/carried_fold.hpp"

namespace ingot {
namespace {

constexpr int64_t kWrittenOut = 8;  // neighbours that are compared one by one: what never lies outside is read as it lies
constexpr int64_t kFewTaps = 64;    // that are added up as they are; the sum of more is carried

class PoolLowering {
 public:
  PoolLowering(Lowering& l, const PoolWindow& window)
      : l_(l), w_(window), type_(compute_dtype(l)), at_(variables_over(l, l.result(0).sizes)),
        first_(at_.size() - window.kernel.size()) {}

  bool has_maximum() const {
    for (int d = 0; d < space(); d++)
      if (may_leave(d) && !w_.dilation[d].same(1)) return false;
    return true;
  }
  void maximum() {
    for (int d = 0; d + 1 < space(); d++) {
      if (w_.kernel[d].same(1) && w_.stride[d].same(1)) continue;
      Index vars(at_.begin(), at_.begin() + place(d) + 1);
      for (int i = d + 1; i < space(); i++) vars.push_back(l_.variable(extent(i)));
      const Expr greatest = folded_maximum(vars, d);
      rows_ = l_.temporary(vars, greatest);
    }
    const int last = space() - 1;
    const int64_t taps = w_.kernel[last].value();
    if (taps > kWrittenOut) return l_.define(0, at_, folded_maximum(at_, last));
    Expr greatest = tap_of(at_, last, 0);
    for (int64_t t = 1; t < taps; t++) greatest = max(greatest, tap_of(at_, last, t));
    l_.define(0, at_, greatest);
  }

  // Integers are averaged in double and truncated.
  void average(bool counts_padding, const Expr& divisor) {
    if (is_integral(type_)) type_ = DType::f64;
    Expr count = 1;
    for (int d = 0; d < space(); d++) {
      const Expr begin = pixel(at_, d, 0), padding = w_.padding[d].expr(), end = begin + w_.kernel[d].expr();
      count = count * (counts_padding ? min(end, extent(d) + padding) - begin : min(end, extent(d)) - max(begin, Expr(0)));
    }
    l_.define(0, at_, cast(type_, sum()) / cast(type_, divisor.is_const(0) ? count : divisor));
  }

 private:
  using Index = std::vector<Expr>;

  Lowering& l_;
  const PoolWindow& w_;
  DType type_;
  Index at_;
  std::size_t first_;  // dim of space
  int rows_ = -1;      // what is left of the dims before; -1: the input

  int space() const { return w_.kernel.dim(); }
  std::ptrdiff_t place(int d) const { return static_cast<std::ptrdiff_t>(first_) + d; }
  Expr extent(int d) const { return l_.size(0, static_cast<int>(place(d))); }
  bool may_leave(int d) const { return w_.ceil_mode || !w_.padding[d].same(0); }

  // Where a tap of the window at `at` looks, along one dim of space.
  Expr pixel(const Index& at, int d, const Expr& tap) const {
    return at[static_cast<std::size_t>(place(d))] * w_.stride[d].expr() + tap * w_.dilation[d].expr() - w_.padding[d].expr();
  }

  Expr tap_of(Index at, int d, const Expr& tap) const {
    Expr inside = pixel(at, d, tap);
    if (may_leave(d)) inside = max(min(inside, extent(d) - 1), Expr(0));
    at[static_cast<std::size_t>(place(d))] = inside;
    return rows_ < 0 ? cast(type_, l_.load(0, at)) : l_.load_temporary(rows_, at);
  }
  Expr folded_maximum(const Index& at, int d) {
    const Expr tap = l_.variable(w_.kernel[d].expr());
    return l_.fold(Accumulate::max, {tap}, tap_of(at, d, tap));
  }

  Expr sum() {
    Index taps, index(at_.begin(), at_.begin() + place(0));
    Expr is_inside = true;
    int64_t count = 1;
    for (int d = 0; d < space(); d++) {
      taps.push_back(l_.variable(w_.kernel[d].expr()));
      index.push_back(pixel(at_, d, taps.back()));
      if (may_leave(d)) is_inside = is_inside && index.back() >= Expr(0) && index.back() < extent(d);
      count *= w_.kernel[d].value();
    }
    const Expr x = select(is_inside, cast(type_, l_.load(0, index)), Expr::constant(type_, 0.0));
    return count > kFewTaps ? carried_fold(l_, Accumulate::sum, taps, x) : l_.fold(Accumulate::sum, taps, x);
  }
};

}  // namespace

template <int Space>
void max_pool_lower(Lowering& l) {
  if (l.is_read(1)) return;  // the kernel finds the places with the values
  const PoolWindow w = pool_window(l.call, Space, 1, true);
  if (PoolLowering pool(l, w); pool.has_maximum()) pool.maximum();
}
template <int Space>
void avg_pool_lower(Lowering& l) {
  const PoolWindow w = pool_window(l.call, Space, 1, false);
  PoolLowering(l, w).average(l.call[5].to_bool(), l.call[6].int_or(0).expr());
}

template void max_pool_lower<2>(Lowering&);
template void max_pool_lower<3>(Lowering&);
template void avg_pool_lower<2>(Lowering&);
template void avg_pool_lower<3>(Lowering&);

}  // namespace ingot
