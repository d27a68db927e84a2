// Eigenvalues and vectors of Hermitian matrices by the steps of LAPACK's xSYEVD and xHEEVD for
// matrices of moderate size: Householder reduction to tridiagonal form, implicit QL or QR iteration
// on that, eigenvalues sorted at the end. The signs and phases of the vectors follow from these
// steps.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "ops/linalg/eigen.hpp"
#include "ops/linalg/eigen_steps.hpp"

namespace ingot {
namespace {

constexpr double kUlp = std::numeric_limits<double>::epsilon(), kTiny = std::numeric_limits<double>::min();

// What a matrix whose largest element is this is multiplied by, so that its squares neither
// overflow nor vanish.
double scale_into(double low, double high, double largest) {
  if (largest == 0) return 1;
  return largest < low ? low / largest : largest > high ? high / largest : 1;
}

// ---- reduction

// a = Q T Q^H, T with diagonal d and e beside it.
template <class S>
struct Tridiagonal {
  std::vector<double> d, e;
  Reflectors<S> q;
};

// H^H a H for the lower triangle of a from row and column h.first on: a - v w^H - w v^H with w = x
// - tau/2 (x^H v) v, x = tau a v.
template <class S>
void reflect_both_sides(View<S> a, const typename Reflectors<S>::One& h) {
  const auto m = static_cast<int64_t>(h.v.size());
  const S* v = h.v.data();
  const auto at = [&](int64_t i, int64_t j) -> S& { return a(h.first + i, h.first + j); };
  std::vector<S> memory(h.v.size());
  S* w = memory.data();
  for (int64_t j = 0; j < m; j++) {
    S above = std::real(at(j, j)) * v[j];
    for (int64_t i = j + 1; i < m; i++) {
      w[i] += at(i, j) * v[j];
      above += conj_of(at(i, j)) * v[i];
    }
    w[j] += above;
  }
  S dot = 0;
  for (int64_t i = 0; i < m; i++) {
    w[i] *= h.tau;
    dot += conj_of(w[i]) * v[i];
  }
  dot *= -0.5 * h.tau;
  for (int64_t i = 0; i < m; i++) w[i] += dot * v[i];
  for (int64_t j = 0; j < m; j++) {
    const S vj = conj_of(v[j]), wj = conj_of(w[j]);
    for (int64_t i = j; i < m; i++) at(i, j) -= v[i] * wj + w[i] * vj;
  }
}

// Reads and overwrites the lower triangle.
template <class S>
Tridiagonal<S> tridiagonal(View<S> a) {
  const int64_t n = a.n;
  Tridiagonal<S> t{std::vector<double>(static_cast<std::size_t>(n)),
                   std::vector<double>(static_cast<std::size_t>(std::max<int64_t>(n - 1, 0))),
                   {}};
  for (int64_t i = 0; i < n; i++) {
    const auto at = static_cast<std::size_t>(i);
    t.d[at] = std::real(a(i, i));
    if (i + 1 == n) break;
    auto h = make_reflector(i + 1, std::vector<S>(&a(i, i) + 1, &a(i, i) + n - i), t.e[at]);
    if (h.tau == S(0)) continue;
    reflect_both_sides(a, h);
    t.q.list.push_back(std::move(h));
  }
  return t;
}

// ---- the iteration on a tridiagonal matrix

// Eigenvalues of [[a, b], [b, c]], the one that is larger in size first, and the rotation whose (c,
// s) is its vector.
struct TwoByTwo {
  double larger, lesser;
  Rotation vector;
};
TwoByTwo eigen_2x2(double a, double b, double c) {
  const double sum = a + c, difference = a - c, root = std::hypot(difference, 2 * b);
  const double high = std::abs(a) > std::abs(c) ? a : c, low = std::abs(a) > std::abs(c) ? c : a;
  double larger = root / 2, lesser = -root / 2;
  if (sum != 0) {
    larger = (sum + std::copysign(root, sum)) / 2;
    lesser = high / larger * low - b / larger * b;
  }
  // The vector of the eigenvalue on the side of the difference, computed without cancellation.
  const double lever = difference + (difference >= 0 ? root : -root), off = 2 * b;
  double cs = 1, sn = 0;
  if (std::abs(lever) > std::abs(off)) {
    const double cotangent = -off / lever;
    sn = 1 / std::sqrt(1 + cotangent * cotangent);
    cs = cotangent * sn;
  } else if (off != 0) {
    const double tangent = -lever / off;
    cs = 1 / std::sqrt(1 + tangent * tangent);
    sn = tangent * cs;
  }
  const bool other = (sum >= 0) == (difference >= 0);
  return {larger, lesser, other ? Rotation{-sn, cs} : Rotation{cs, sn}};
}

// As Givens, but r > 0 where f < 0 and |f| <= |g|: LAPACK's choice before version 3.10, and still
// that of the libraries that PyTorch is built with.
Givens older_givens(double f, double g) {
  Givens r(f, g);
  if (std::abs(f) <= std::abs(g) && (f < 0 || (f == 0 && g < 0))) r.c = -r.c, r.s = -r.s, r.r = -r.r;
  return r;
}

// Turns the tridiagonal matrix (d, e) into a diagonal one and collects the rotations in z (n x n,
// or null).
class Iteration {
 public:
  // `negligible`: an element is, if it is smaller than this relative to its neighbours on the
  // diagonal.
  Iteration(std::vector<double>& d, std::vector<double>& e, double* z, double negligible)
      : d_(d), e_(e), z_{z, static_cast<int64_t>(d.size())}, negligible_(negligible) {}

  bool run() {
    const int64_t n = z_.n;
    for (int64_t first = 0; first < n;) {
      const int64_t last = block_end(first);
      if (last > first && !diagonalise(first, last)) return false;
      first = last + 1;
    }
    return true;
  }

 private:
  std::vector<double>&d_, &e_;
  View<double> z_;
  double negligible_;
  static constexpr int64_t kSweeps = 30;  // for each eigenvalue
  int64_t sweeps_left_ = kSweeps * z_.n;

  double& d(int64_t i) { return d_[static_cast<std::size_t>(i)]; }
  double& e(int64_t i) { return e_[static_cast<std::size_t>(i)]; }
  void rotate(int64_t i, Rotation r) {  // columns i and i + 1
    if (z_.data)
      for (int64_t k = 0; k < z_.n; k++) r.apply(z_(k, i), z_(k, i + 1));
  }

  // The last row of the block that starts at `first`: the element beside it is negligible.
  int64_t block_end(int64_t first) {
    int64_t m = first;
    for (; m + 1 < z_.n; m++)
      if (std::abs(e(m)) <= std::sqrt(std::abs(d(m))) * std::sqrt(std::abs(d(m + 1))) * negligible_) {
        e(m) = 0;
        break;
      }
    return m;
  }

  void scale(int64_t first, int64_t last, double by) {
    for (int64_t i = first; i <= last; i++) d(i) *= by;
    for (int64_t i = first; i < last; i++) e(i) *= by;
  }
  bool diagonalise(int64_t first, int64_t last) {
    const double largest = std::max(largest_component(last - first + 1, &d(first)), largest_component(last - first, &e(first)));
    const double by = scale_into(4 * std::sqrt(kTiny) / (kUlp * kUlp), std::sqrt(1 / kTiny) / 3, largest);
    if (by != 1) scale(first, last, by);
    // Eigenvalues are found from the smaller end on.
    const bool ok = std::abs(d(last)) < std::abs(d(first)) ? find_values(last, first) : find_values(first, last);
    if (by != 1) scale(first, last, 1 / by);
    return ok;
  }

  // The element between row i and the next one in the direction of `step` (1 or -1).
  double& beside(int64_t i, int64_t step) { return e(std::min(i, i + step)); }
  bool negligible(int64_t i, int64_t step) {
    const double off = beside(i, step);
    return off * off <= negligible_ * negligible_ * std::abs(d(i)) * std::abs(d(i + step)) + kTiny;
  }

  // Eigenvalues from row l on: downwards (QL) or upwards (QR), whichever way `end` lies.
  bool find_values(int64_t l, int64_t end) {
    const int64_t step = end > l ? 1 : -1;
    while ((end - l) * step >= 0) {
      int64_t m = l;
      while (m != end && !negligible(m, step)) m += step;
      if (m != end) beside(m, step) = 0;
      if (m == l) {
        l += step;
      } else if (m == l + step) {
        solve_2x2(std::min(l, m));
        l += 2 * step;
      } else if (sweeps_left_-- == 0) {
        return false;
      } else {
        sweep(m, l);
      }
    }
    return true;
  }
  void solve_2x2(int64_t i) {  // rows i and i + 1
    const TwoByTwo t = eigen_2x2(d(i), e(i), d(i + 1));
    rotate(i, t.vector);
    d(i) = t.larger;
    d(i + 1) = t.lesser;
    e(i) = 0;
  }
  // d at `far` less Wilkinson's shift at l.
  double shifted(int64_t far, int64_t l, int64_t step) {
    const double off = beside(l, step), g = (d(l + step) - d(l)) / (2 * off);
    return d(far) - d(l) + off / (g + std::copysign(std::hypot(g, 1.0), g));
  }
  // One step of the iteration on rows m to l, which makes the element beside l smaller.
  void sweep(int64_t m, int64_t l) {
    const int64_t step = l > m ? 1 : -1;
    double g = shifted(m, l, -step), c = 1, s = 1, p = 0;
    for (int64_t i = m; i != l; i += step) {
      const double off = beside(i, step), f = s * off, b = c * off;
      const Givens r = older_givens(g, f);
      c = r.c, s = r.s;
      if (i != m) beside(i, -step) = r.r;
      g = d(i) - p;
      const double t = (d(i + step) - g) * s + 2 * c * b;
      p = s * t;
      d(i) = g + p;
      g = c * t - b;
      rotate(std::min(i, i + step), {c, step > 0 ? s : -s});
    }
    d(l) -= p;
    beside(l, -step) = g;
  }
};

// ---- the whole

// The lower triangle of a, or of a with rows and columns in reverse: the upper triangle becomes the
// lower one, and what LAPACK does to an upper triangle is what it does to a lower one in reverse.
template <class S>
std::vector<S> lower_triangle(int64_t n, const S* a, bool reversed) {
  std::vector<S> r(static_cast<std::size_t>(n * n));
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = j; i < n; i++) {
      const S x = reversed ? a[n * n - 1 - i - j * n] : a[i + j * n];
      r[static_cast<std::size_t>(i + j * n)] = i == j ? S(std::real(x)) : x;
    }
  return r;
}

// The order in which selection puts values ascending: equal ones may change places, as they do in
// LAPACK.
std::vector<int64_t> sort_by_selection(std::vector<double>& values) {
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = 0; i < values.size(); i++) {
    const auto least = static_cast<std::size_t>(std::min_element(values.begin() + static_cast<std::ptrdiff_t>(i), values.end()) -
                                                values.begin());
    std::swap(values[i], values[least]);
    std::swap(order[i], order[least]);
  }
  return order;
}

}  // namespace

template <class S>
bool hermitian_eigen(int64_t n, const S* a, bool upper, double* values, S* vectors, double epsilon) {
  std::vector<S> triangle = lower_triangle(n, a, upper);
  if (!all_finite(triangle)) return false;
  const double low = std::sqrt(kTiny / kUlp), by = scale_into(low, 1 / low, largest_component(n * n, triangle.data()));
  if (by != 1)
    for (S& x : triangle) x *= by;
  Tridiagonal<S> t = tridiagonal(View<S>{triangle.data(), n});
  if (upper) {
    std::reverse(t.d.begin(), t.d.end());
    std::reverse(t.e.begin(), t.e.end());
  }
  std::vector<double> z(static_cast<std::size_t>(vectors ? n * n : 0));
  if (vectors)
    for (int64_t i = 0; i < n; i++) z[static_cast<std::size_t>(i * (n + 1))] = 1;
  if (!Iteration(t.d, t.e, vectors ? z.data() : nullptr, epsilon / 2).run()) return false;
  const std::vector<int64_t> order = sort_by_selection(t.d);
  std::transform(t.d.begin(), t.d.end(), values, [&](double x) { return x / by; });
  if (!vectors) return true;
  const auto copy_reversed_if = [&](const auto* from, S* to) {
    if (upper) std::reverse_copy(from, from + n, to);
    else std::copy(from, from + n, to);
  };
  for (int64_t j = 0; j < n; j++) copy_reversed_if(z.data() + order[static_cast<std::size_t>(j)] * n, vectors + j * n);
  t.q.apply(n, n, vectors);
  if (upper)
    for (int64_t j = 0; j < n; j++) std::reverse(vectors + j * n, vectors + (j + 1) * n);
  return true;
}

template bool hermitian_eigen(int64_t, const double*, bool, double*, double*, double);
template bool hermitian_eigen(int64_t, const std::complex<double>*, bool, double*, std::complex<double>*, double);

}  // namespace ingot
