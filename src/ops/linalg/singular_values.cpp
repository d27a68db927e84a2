// Singular values and vectors by the steps of LAPACK's xGESDD for matrices of moderate size: a QR
// or LQ factorisation first if the matrix is much longer than wide, Householder reduction to
// bidiagonal form, implicit QR iteration on that, with and without shift (Demmel and Kahan). The
// signs of the vectors follow from these steps.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/linalg/eigen.hpp"
#include "ops/linalg/eigen_steps.hpp"

namespace ingot {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon() / 2, kTiny = std::numeric_limits<double>::min();

// ---- the iteration on a bidiagonal matrix

// Vectors that rotations are collected in: u (columns) and v (columns, V itself and not its
// transpose). Null: not wanted.
struct Vectors {
  std::vector<double> u, v;
  int64_t n = 0;
  bool wanted = false;
  void rotate(std::vector<double>& m, int64_t i, int64_t j, double c, double s) const {
    if (!wanted) return;
    for (int64_t k = 0; k < n; k++)
      Rotation{c, s}.apply(m[static_cast<std::size_t>(k + i * n)], m[static_cast<std::size_t>(k + j * n)]);
  }
};

// Singular values of [[f, g], [0, h]] with their signs, and the rotations: (largest, least) and
// (cl, sl), (cr, sr).
struct TwoByTwo {
  double largest, least, cl, sl, cr, sr;
};
TwoByTwo svd_2x2(double f, double g, double h) {
  const auto sign = [](double x) { return std::copysign(1.0, x); };
  double ft = f, fa = std::abs(f), ht = h, ha = std::abs(h);
  const bool exchanged = ha > fa;
  int dominant = exchanged ? 3 : 1;
  if (exchanged) std::swap(ft, ht), std::swap(fa, ha);
  const double ga = std::abs(g);
  double largest = fa, least = ha, cl = 1, cr = 1, sl = 0, sr = 0;
  if (ga != 0) {
    if (ga > fa) dominant = 2;
    if (ga > fa && fa / ga < kEps) {
      largest = ga;
      least = ha > 1 ? fa / (ga / ha) : fa / ga * ha;
      sl = ht / g;
      sr = 1;
      cr = ft / g;
    } else {
      const double d = fa - ha, l = d == fa ? 1 : d / fa, m = g / ft, t = 2 - l, s = std::sqrt(t * t + m * m);
      const double r = l == 0 ? std::abs(m) : std::sqrt(l * l + m * m), a = 0.5 * (s + r);
      least = ha / a;
      largest = fa * a;
      double q;
      if (m * m != 0) q = (m / (s + t) + m / (r + l)) * (1 + a);
      else if (l == 0) q = std::copysign(2.0, ft) * sign(g);
      else q = g / std::copysign(d, ft) + m / t;
      const double length = std::sqrt(q * q + 4);
      cr = 2 / length;
      sr = q / length;
      cl = (cr + sr * m) / a;
      sl = ht / ft * sr / a;
    }
  }
  if (exchanged) {
    std::swap(cl, sr);
    std::swap(sl, cr);
  }
  const double s = dominant == 1   ? sign(cr) * sign(cl) * sign(f)
                   : dominant == 2 ? sign(sr) * sign(cl) * sign(g)
                                   : sign(sr) * sign(sl) * sign(h);
  return {std::copysign(largest, s), std::copysign(least, s * sign(f) * sign(h)), cl, sl, cr, sr};
}
double least_singular_value(double f, double g, double h) {
  const double fa = std::abs(f), ga = std::abs(g), ha = std::abs(h), low = std::min(fa, ha), high = std::max(fa, ha);
  if (low == 0) return 0;
  const double sum = 1 + low / high, difference = (high - low) / high;
  if (ga < high) {
    const double u = ga / high * (ga / high);
    return low * (2 / (std::sqrt(sum * sum + u) + std::sqrt(difference * difference + u)));
  }
  const double u = high / ga;
  if (u == 0) return low * high / ga;
  return 2 * (low * (1 / (std::sqrt(1 + sum * u * (sum * u)) + std::sqrt(1 + difference * u * (difference * u))))) * u;
}

// d (n) and e (n - 1) of an upper bidiagonal matrix; d becomes its singular values, descending.
bool iterate(std::vector<double>& d, std::vector<double>& e, Vectors& w) {
  const auto n = static_cast<int64_t>(d.size());
  const auto D = [&](int64_t i) -> double& { return d[static_cast<std::size_t>(i)]; };
  const auto E = [&](int64_t i) -> double& { return e[static_cast<std::size_t>(i)]; };
  const double tolerance = std::max(10.0, std::min(100.0, std::pow(kEps, -0.125))) * kEps;
  // A lower bound of the least singular value says which elements are negligible.
  double bound = std::abs(D(0));
  for (int64_t i = 1; i < n; i++) {
    const double mu = std::abs(D(i)) * (bound / (bound + std::abs(E(i - 1))));
    bound = std::min(bound, mu);
    if (bound == 0) break;
  }
  constexpr double kSweeps = 6;
  const double dn = static_cast<double>(n),
               negligible = std::max(tolerance * (bound / std::sqrt(dn)), kSweeps * (dn * (dn * kTiny)));
  int64_t m = n - 1, old_first = -1, old_last = -1;
  bool down = true;
  for (double work = kSweeps * dn * dn; m > 0;) {
    if (work < 0) return false;
    double largest = std::abs(D(m));
    int64_t first = m - 1;
    for (; first >= 0; first--) {
      if (std::abs(E(first)) <= negligible) break;
      largest = std::max({largest, std::abs(D(first)), std::abs(E(first))});
    }
    if (first >= 0) {
      E(first) = 0;
      if (first == m - 1) {
        m--;
        continue;
      }
    }
    first++;
    if (first == m - 1) {
      const TwoByTwo t = svd_2x2(D(m - 1), E(m - 1), D(m));
      D(m - 1) = t.largest;
      E(m - 1) = 0;
      D(m) = t.least;
      w.rotate(w.v, m - 1, m, t.cr, t.sr);
      w.rotate(w.u, m - 1, m, t.cl, t.sl);
      m -= 2;
      continue;
    }
    if (first > old_last || m < old_first) down = std::abs(D(first)) >= std::abs(D(m));  // chase towards the smaller end
    // Elements that are negligible for the relative accuracy of the least value.
    const auto converged = [&] {
      double& last = down ? E(m - 1) : E(first);
      if (std::abs(last) <= tolerance * std::abs(down ? D(m) : D(first))) {
        last = 0;
        return true;
      }
      double mu = std::abs(down ? D(first) : D(m));
      bound = mu;
      for (int64_t k = 0; k < m - first; k++) {
        double& off = down ? E(first + k) : E(m - 1 - k);
        if (std::abs(off) <= tolerance * mu) {
          off = 0;
          return true;
        }
        mu = std::abs(down ? D(first + k + 1) : D(m - 1 - k)) * (mu / (mu + std::abs(off)));
        bound = std::min(bound, mu);
      }
      return false;
    };
    if (converged()) continue;
    old_first = first;
    old_last = m;
    double shift = 0;
    if (dn * tolerance * (bound / largest) > std::max(kEps, 0.01 * tolerance)) {
      shift = down ? least_singular_value(D(m - 1), E(m - 1), D(m)) : least_singular_value(D(first), E(first), D(first + 1));
      const double end = std::abs(down ? D(first) : D(m));
      if (end > 0 && shift / end * (shift / end) < kEps) shift = 0;
    }
    work -= static_cast<double>(m - first);
    if (shift == 0) {
      Givens a(1, 0), b(1, 0);
      if (down) {
        for (int64_t i = first; i < m; i++) {
          a = Givens(D(i) * a.c, E(i));
          if (i > first) E(i - 1) = b.s * a.r;
          b = Givens(b.c * a.r, D(i + 1) * a.s);
          D(i) = b.r;
          w.rotate(w.v, i, i + 1, a.c, a.s);
          w.rotate(w.u, i, i + 1, b.c, b.s);
        }
        const double h = D(m) * a.c;
        D(m) = h * b.c;
        E(m - 1) = h * b.s;
      } else {
        for (int64_t i = m; i > first; i--) {
          a = Givens(D(i) * a.c, E(i - 1));
          if (i < m) E(i) = b.s * a.r;
          b = Givens(b.c * a.r, D(i - 1) * a.s);
          D(i) = b.r;
          w.rotate(w.v, i - 1, i, b.c, -b.s);
          w.rotate(w.u, i - 1, i, a.c, -a.s);
        }
        const double h = D(first) * a.c;
        D(first) = h * b.c;
        E(first) = h * b.s;
      }
    } else if (down) {
      double f = (std::abs(D(first)) - shift) * (std::copysign(1.0, D(first)) + shift / D(first)), g = E(first);
      for (int64_t i = first; i < m; i++) {
        const Givens r(f, g);
        if (i > first) E(i - 1) = r.r;
        f = r.c * D(i) + r.s * E(i);
        E(i) = r.c * E(i) - r.s * D(i);
        g = r.s * D(i + 1);
        D(i + 1) *= r.c;
        const Givens l(f, g);
        D(i) = l.r;
        f = l.c * E(i) + l.s * D(i + 1);
        D(i + 1) = l.c * D(i + 1) - l.s * E(i);
        if (i < m - 1) {
          g = l.s * E(i + 1);
          E(i + 1) *= l.c;
        }
        w.rotate(w.v, i, i + 1, r.c, r.s);
        w.rotate(w.u, i, i + 1, l.c, l.s);
      }
      E(m - 1) = f;
    } else {
      double f = (std::abs(D(m)) - shift) * (std::copysign(1.0, D(m)) + shift / D(m)), g = E(m - 1);
      for (int64_t i = m; i > first; i--) {
        const Givens r(f, g);
        if (i < m) E(i) = r.r;
        f = r.c * D(i) + r.s * E(i - 1);
        E(i - 1) = r.c * E(i - 1) - r.s * D(i);
        g = r.s * D(i - 1);
        D(i - 1) *= r.c;
        const Givens l(f, g);
        D(i) = l.r;
        f = l.c * E(i - 1) + l.s * D(i - 1);
        D(i - 1) = l.c * D(i - 1) - l.s * E(i - 1);
        if (i > first + 1) {
          g = l.s * E(i - 2);
          E(i - 2) *= l.c;
        }
        w.rotate(w.v, i - 1, i, l.c, -l.s);
        w.rotate(w.u, i - 1, i, r.c, -r.s);
      }
      E(first) = f;
    }
    double& end = down ? E(m - 1) : E(first);
    if (std::abs(end) <= negligible) end = 0;
  }
  for (int64_t i = 0; i < n; i++)
    if (std::signbit(D(i))) {
      D(i) = -D(i);
      // The sign goes to the right, of a lone value to the left.
      if (w.wanted)
        for (int64_t k = 0; k < n; k++) (n == 1 ? w.u : w.v)[static_cast<std::size_t>(k + i * n)] *= -1;
    }
  for (int64_t last = n - 1; last > 0; last--) {  // the least of those that are left goes last
    int64_t least = 0;
    for (int64_t j = 1; j <= last; j++)
      if (D(j) <= D(least)) least = j;
    if (least == last) continue;
    std::swap(D(least), D(last));
    if (!w.wanted) continue;
    for (auto* t : {&w.u, &w.v})
      for (int64_t k = 0; k < n; k++)
        std::swap((*t)[static_cast<std::size_t>(k + least * n)], (*t)[static_cast<std::size_t>(k + last * n)]);
  }
  return true;
}

// ---- reduction

// a (m x n) = Q B P^H with B upper bidiagonal if m >= n, else lower bidiagonal.
template <class S>
struct Bidiagonal {
  std::vector<double> d, e;
  Reflectors<S> q, p;
};
template <class S>
Bidiagonal<S> bidiagonal(int64_t m, int64_t n, std::vector<S> a) {
  Bidiagonal<S> r;
  const int64_t k = std::min(m, n);
  const bool upper = m >= n;
  const auto at = [&](int64_t i, int64_t j) -> S& { return a[static_cast<std::size_t>(i + j * m)]; };
  const auto column = [&](int64_t row, int64_t col, double& beta) {
    std::vector<S> x(static_cast<std::size_t>(m - row));
    for (int64_t i = row; i < m; i++) x[static_cast<std::size_t>(i - row)] = at(i, col);
    auto h = make_reflector(row, std::move(x), beta);
    for (int64_t j = col + 1; j < n; j++) {
      S dot = 0;
      for (int64_t i = row; i < m; i++) dot += conj_of(h.v[static_cast<std::size_t>(i - row)]) * at(i, j);
      dot *= conj_of(h.tau);
      for (int64_t i = row; i < m; i++) at(i, j) -= h.v[static_cast<std::size_t>(i - row)] * dot;
    }
    r.q.list.push_back(std::move(h));
  };
  const auto row = [&](int64_t row, int64_t col, double& beta) {
    std::vector<S> x(static_cast<std::size_t>(n - col));
    for (int64_t j = col; j < n; j++) x[static_cast<std::size_t>(j - col)] = conj_of(at(row, j));
    auto h = make_reflector(col, std::move(x), beta);
    for (int64_t i = row + 1; i < m; i++) {
      S dot = 0;
      for (int64_t j = col; j < n; j++) dot += at(i, j) * h.v[static_cast<std::size_t>(j - col)];
      dot *= h.tau;
      for (int64_t j = col; j < n; j++) at(i, j) -= dot * conj_of(h.v[static_cast<std::size_t>(j - col)]);
    }
    r.p.list.push_back(std::move(h));
  };
  r.d.resize(static_cast<std::size_t>(k));
  r.e.resize(static_cast<std::size_t>(std::max<int64_t>(k - 1, 0)));
  for (int64_t i = 0; i < k; i++) {
    double none = 0, &off = i + 1 < k ? r.e[static_cast<std::size_t>(i)] : none;
    if (upper) {
      column(i, i, r.d[static_cast<std::size_t>(i)]);
      if (i + 1 < n) row(i, i + 1, off);
    } else {
      row(i, i, r.d[static_cast<std::size_t>(i)]);
      if (i + 1 < m) column(i + 1, i, off);
    }
  }
  return r;
}

// Columns of a matrix put into the corner of a larger one with ones on the rest of its diagonal.
template <class S>
void embed(const std::vector<double>& from, int64_t n, S* to, int64_t rows, int64_t cols) {
  std::fill(to, to + rows * cols, S(0));
  for (int64_t j = 0; j < cols; j++)
    if (j >= n && j < rows) to[j + j * rows] = S(1);
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < n; i++) to[i + j * rows] = S(from[static_cast<std::size_t>(i + j * n)]);
}

// a (m x n) = u diag(s) v^H: u is m x u_cols, v is n x v_cols, each at least min(m, n). Null:
// values only.
template <class S>
bool decompose(int64_t m, int64_t n, std::vector<S> a, double* s, S* u, int64_t u_cols, S* v, int64_t v_cols) {
  const int64_t k = std::min(m, n);
  Bidiagonal<S> b = bidiagonal(m, n, std::move(a));
  Vectors w;
  w.n = k;
  w.wanted = u != nullptr;
  if (w.wanted) {
    w.u.assign(static_cast<std::size_t>(k * k), 0.0);
    for (int64_t i = 0; i < k; i++) w.u[static_cast<std::size_t>(i * (k + 1))] = 1;
    w.v = w.u;
  }
  std::vector<Givens> lower;  // a lower bidiagonal matrix is rotated to an upper one from the left
  if (m < n)
    for (int64_t i = 0; i + 1 < k; i++) {
      const auto at = static_cast<std::size_t>(i);
      const Givens r(b.d[at], b.e[at]);
      b.d[at] = r.r;
      b.e[at] = r.s * b.d[at + 1];
      b.d[at + 1] *= r.c;
      lower.push_back(r);
    }
  if (!iterate(b.d, b.e, w)) return false;
  std::copy(b.d.begin(), b.d.end(), s);
  if (!u) return true;
  for (auto r = lower.rbegin(); r != lower.rend(); ++r) {  // u = (R_0^T R_1^T …) u
    const auto i = static_cast<std::size_t>(lower.rend() - r - 1);
    const Rotation back{r->c, -r->s};
    for (int64_t c = 0; c < k; c++)
      back.apply(w.u[i + static_cast<std::size_t>(c * k)], w.u[i + 1 + static_cast<std::size_t>(c * k)]);
  }
  embed(w.u, k, u, m, u_cols);
  b.q.apply(m, u_cols, u);
  embed(w.v, k, v, n, v_cols);
  b.p.apply(n, v_cols, v);
  return true;
}

// As decompose, for a matrix so long that a factorisation comes first: `tall` (m x n) is the
// matrix, or its adjoint where `wide`. The long vectors (m x cols) are those on the left of a tall
// matrix and on the right of a wide one.
template <class S>
bool decompose_long(int64_t m, int64_t n, std::vector<S> tall, bool wide, double* s, S* long_vectors, int64_t cols,
                    S* short_vectors) {
  std::vector<S> tau(static_cast<std::size_t>(n)), core(static_cast<std::size_t>(n * n));
  householder_qr(m, n, tall.data(), tau.data());
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i <= j; i++) {
      const S r = tall[static_cast<std::size_t>(i + j * m)];
      core[static_cast<std::size_t>(wide ? j + i * n : i + j * n)] = wide ? conj_of(r) : r;
    }
  const bool vectors = long_vectors != nullptr;
  std::vector<S> left(static_cast<std::size_t>(vectors ? n * n : 0)), right(left);
  if (!decompose(n, n, std::move(core), s, vectors ? left.data() : nullptr, n, vectors ? right.data() : nullptr, n)) return false;
  if (!vectors) return true;
  if (wide) std::swap(left, right);
  std::copy(right.begin(), right.end(), short_vectors);
  std::vector<S> q(static_cast<std::size_t>(m * cols));
  householder_q(m, cols, n, tall.data(), tau.data(), q.data());
  for (int64_t j = 0; j < cols; j++)
    for (int64_t i = 0; i < m; i++) {
      S sum = 0;
      if (j >= n) sum = q[static_cast<std::size_t>(i + j * m)];
      else
        for (int64_t l = 0; l < n; l++) sum += q[static_cast<std::size_t>(i + l * m)] * left[static_cast<std::size_t>(l + j * n)];
      long_vectors[i + j * m] = sum;
    }
  return true;
}

template <class S>
std::vector<S> adjoint_of(int64_t m, int64_t n, const S* a) {
  std::vector<S> r(static_cast<std::size_t>(m * n));
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) r[static_cast<std::size_t>(j + i * n)] = conj_of(a[i + j * m]);
  return r;
}

}  // namespace

template <class S>
bool singular_values(int64_t m, int64_t n, const S* a, bool full, S* u, double* s, S* vh) {
  const std::vector<S> copy(a, a + m * n);
  if (!all_finite(copy)) return false;
  const int64_t k = std::min(m, n), u_cols = full ? m : k, v_cols = full ? n : k;
  // From which ratio on LAPACK factorises first: 11/6 for real, 17/9 for complex matrices.
  const auto much = static_cast<int64_t>(static_cast<double>(k) * (std::is_same_v<S, double> ? 11.0 / 6 : 17.0 / 9));
  std::vector<S> v(static_cast<std::size_t>(u ? n * v_cols : 0));
  S* right = u ? v.data() : nullptr;
  const bool ok = m > n && m >= much   ? decompose_long(m, n, copy, false, s, u, u_cols, right)
                  : n > m && n >= much ? decompose_long(n, m, adjoint_of(m, n, a), true, s, right, v_cols, u)
                                       : decompose(m, n, copy, s, u, u_cols, right, v_cols);
  if (!ok || !u) return ok;
  for (int64_t j = 0; j < v_cols; j++)
    for (int64_t i = 0; i < n; i++) vh[j + i * v_cols] = conj_of(v[static_cast<std::size_t>(i + j * n)]);
  return true;
}

template bool singular_values(int64_t, int64_t, const double*, bool, double*, double*, double*);
template bool singular_values(int64_t, int64_t, const std::complex<double>*, bool, std::complex<double>*, double*,
                              std::complex<double>*);

}  // namespace ingot
