// Eigenvalues and vectors of general matrices by the steps of LAPACK's xGEEV: balance, reduce to
// Hessenberg form, shifted QR iteration, back substitution. Eigenvalues have no natural order; they
// come out in the one that LAPACK users know, because shifts and deflations are chosen as LAPACK
// chooses them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "ops/linalg/eigen.hpp"
#include "ops/linalg/eigen_steps.hpp"

namespace ingot {
namespace {

using Complex = std::complex<double>;
constexpr double kUlp = std::numeric_limits<double>::epsilon(), kTiny = std::numeric_limits<double>::min();

// ---- balancing

// Similarity transform that isolates eigenvalues by permutation and makes rows and columns of the
// rest alike in norm.
struct Balance {
  int64_t low = 0, high = 0;     // the part that is not triangular already: [low, high)
  std::vector<double> scale;     // of rows in that part
  std::vector<int64_t> swapped;  // for the others: which row it was exchanged with
};

template <class S>
void exchange(View<S> a, int64_t i, int64_t j, int64_t low, int64_t high) {
  if (i == j) return;
  for (int64_t r = 0; r < high; r++) std::swap(a(r, i), a(r, j));
  for (int64_t c = low; c < a.n; c++) std::swap(a(i, c), a(j, c));
}
template <class S>
Balance balanced(View<S> a) {
  const int64_t n = a.n;
  Balance b{0, n, std::vector<double>(static_cast<std::size_t>(n), 1.0), std::vector<int64_t>(static_cast<std::size_t>(n))};
  std::iota(b.swapped.begin(), b.swapped.end(), 0);
  // A row with nothing off the diagonal goes to the bottom, a column with nothing off it to the
  // left.
  for (bool found = true; found && b.high > 0;) {
    found = false;
    for (int64_t i = b.high; i-- > 0 && b.high > 0;) {
      bool alone = true;
      for (int64_t j = 0; j < b.high && alone; j++) alone = i == j || a(i, j) == S(0);
      if (!alone) continue;
      b.swapped[static_cast<std::size_t>(b.high - 1)] = i;
      exchange(a, i, b.high - 1, b.low, b.high);
      b.high--;
      found = true;
    }
  }
  for (bool found = true; found;) {
    found = false;
    for (int64_t j = b.low; j < b.high; j++) {
      bool alone = true;
      for (int64_t i = b.low; i < b.high && alone; i++) alone = i == j || a(i, j) == S(0);
      if (!alone) continue;
      b.swapped[static_cast<std::size_t>(b.low)] = j;
      exchange(a, j, b.low, b.low, b.high);
      b.low++;
      found = true;
    }
  }
  const double least = kTiny / kUlp * 2, most = 1 / least;
  for (bool changed = true; changed;) {
    changed = false;
    for (int64_t i = b.low; i < b.high; i++) {
      double c = 0, r = 0, largest_c = 0, largest_r = 0;
      for (int64_t k = b.low; k < b.high; k++) c += std::norm(a(k, i)), r += std::norm(a(i, k));
      for (int64_t k = 0; k < b.high; k++) largest_c = std::max(largest_c, std::abs(a(k, i)));
      for (int64_t k = b.low; k < n; k++) largest_r = std::max(largest_r, std::abs(a(i, k)));
      c = std::sqrt(c), r = std::sqrt(r);
      if (c == 0 || r == 0) continue;
      const double before = c + r;
      double f = 1;
      for (double g = r / 2; c < g && std::max({f, c, largest_c}) < most && std::min({r, g, largest_r}) > least; g /= 2)
        f *= 2, c *= 2, largest_c *= 2, r /= 2, largest_r /= 2;
      for (double g = c / 2; g >= r && std::max(r, largest_r) < most && std::min({f, c, g, largest_c}) > least; g /= 2)
        f /= 2, c /= 2, largest_c /= 2, r *= 2, largest_r *= 2;
      if (c + r >= 0.95 * before) continue;
      b.scale[static_cast<std::size_t>(i)] *= f;
      changed = true;
      for (int64_t k = b.low; k < n; k++) a(i, k) /= f;
      for (int64_t k = 0; k < b.high; k++) a(k, i) *= f;
    }
  }
  return b;
}
template <class S>
void undo(const Balance& b, View<S> v) {
  const int64_t n = v.n;
  for (int64_t i = b.low; i < b.high; i++)
    for (int64_t j = 0; j < n; j++) v(i, j) *= b.scale[static_cast<std::size_t>(i)];
  const auto back = [&](int64_t i) {
    const int64_t k = b.swapped[static_cast<std::size_t>(i)];
    if (k != i)
      for (int64_t j = 0; j < n; j++) std::swap(v(i, j), v(k, j));
  };
  for (int64_t i = b.low; i-- > 0;) back(i);
  for (int64_t i = b.high; i < n; i++) back(i);
}

// ---- Hessenberg form

// a = Q H Q^H in rows and columns [low, high); q becomes Q.
template <class S>
void hessenberg(View<S> a, View<S> q, int64_t low, int64_t high) {
  const int64_t n = a.n;
  for (int64_t k = 0; k < n * n; k++) q.data[k] = S(k % (n + 1) == 0 ? 1.0 : 0.0);
  std::vector<S> v(static_cast<std::size_t>(n));
  for (int64_t i = low; i + 1 < high; i++) {
    const int64_t first = i + 1, m = high - first;
    for (int64_t k = 0; k < m; k++) v[static_cast<std::size_t>(k)] = a(first + k, i);
    const S tau = reflector(m, v.data());
    const S beta = v[0];
    v[0] = S(1);
    const auto from_right = [&](View<S> t, int64_t rows) {
      for (int64_t r = 0; r < rows; r++) {
        S dot = 0;
        for (int64_t k = 0; k < m; k++) dot += t(r, first + k) * v[static_cast<std::size_t>(k)];
        dot *= tau;
        for (int64_t k = 0; k < m; k++) t(r, first + k) -= dot * conj_of(v[static_cast<std::size_t>(k)]);
      }
    };
    from_right(a, high);
    from_right(q, n);
    for (int64_t c = first; c < n; c++) {
      S dot = 0;
      for (int64_t k = 0; k < m; k++) dot += conj_of(v[static_cast<std::size_t>(k)]) * a(first + k, c);
      dot *= conj_of(tau);
      for (int64_t k = 0; k < m; k++) a(first + k, c) -= v[static_cast<std::size_t>(k)] * dot;
    }
    a(first, i) = beta;
    for (int64_t k = 1; k < m; k++) a(first + k, i) = S(0);
  }
}

// ---- QR iteration

// |re| + |im|, which LAPACK takes for the size of a complex number.
double size_of(double x) { return pivot_size(x); }
double size_of(Complex x) { return pivot_size(x); }

// The first row of the active block that ends in row i: the subdiagonal element before it is
// negligible.
template <class S>
int64_t block_start(View<S> h, int64_t i, int64_t low, int64_t high, double negligible) {
  int64_t k = i;
  for (; k > low; k--) {
    const double sub = size_of(h(k, k - 1));
    if (sub <= negligible) break;
    double near = size_of(h(k - 1, k - 1)) + size_of(h(k, k));
    if (near == 0) {
      if (k - 2 >= low) near += std::abs(std::real(h(k - 1, k - 2)));
      if (k + 1 < high) near += std::abs(std::real(h(k + 1, k)));
    }
    if (std::abs(std::real(h(k, k - 1))) > kUlp * near) continue;
    // Ahues and Tisseur: not only small, but small enough for the eigenvalues of the 2x2 block.
    const double super = size_of(h(k - 1, k)), ab = std::max(sub, super), ba = std::min(sub, super);
    const double own = size_of(h(k, k)), gap = size_of(h(k - 1, k - 1) - h(k, k)), aa = std::max(own, gap),
                 bb = std::min(own, gap), s = aa + ab;
    if (ba * (ab / s) <= std::max(negligible, kUlp * (bb * (aa / s)))) break;
  }
  return k;
}
constexpr int kIterations = 30, kExceptional = 10;

// The rotation that makes [[a, b], [c, d]] upper triangular, or standard (a = d, b c < 0) if its
// eigenvalues are complex.
Rotation standardise(double& a, double& b, double& c, double& d) {
  const auto sign = [](double x) { return std::copysign(1.0, x); };
  if (c == 0) return {1, 0};
  if (b == 0) {
    std::swap(a, d);
    b = -c;
    c = 0;
    return {0, 1};
  }
  if (a - d == 0 && sign(b) != sign(c)) return {1, 0};
  const double temp = a - d, p = temp / 2, larger = std::max(std::abs(b), std::abs(c));
  const double lesser = std::min(std::abs(b), std::abs(c)) * sign(b) * sign(c), scale = std::max(std::abs(p), larger);
  double z = p / scale * p + larger / scale * lesser;
  if (z >= 4 * kUlp) {  // two real eigenvalues
    z = p + std::copysign(std::sqrt(scale) * std::sqrt(z), p);
    a = d + z;
    d -= larger / z * lesser;
    const double tau = std::hypot(c, z);
    const Rotation r{z / tau, c / tau};
    b -= c;
    c = 0;
    return r;
  }
  // Complex, or real and almost equal: make the diagonal equal.
  const double sigma = b + c, tau = std::hypot(sigma, temp), cs = std::sqrt((1 + std::abs(sigma) / tau) / 2),
               sn = -(p / (tau * cs)) * sign(sigma);
  const double aa = a * cs + b * sn, bb = -a * sn + b * cs, cc = c * cs + d * sn, dd = -c * sn + d * cs;
  b = bb * cs + dd * sn;
  c = -aa * sn + cc * cs;
  const double mean = (aa * cs + cc * sn - bb * sn + dd * cs) / 2;
  a = d = mean;
  if (c == 0) return {cs, sn};
  if (b == 0) {
    b = -c;
    c = 0;
    return {-sn, cs};
  }
  if (sign(b) != sign(c)) return {cs, sn};
  const double sab = std::sqrt(std::abs(b)), sac = std::sqrt(std::abs(c)), root = std::copysign(sab * sac, c),
               t = 1 / std::sqrt(std::abs(b + c));
  a = mean + root;
  d = mean - root;
  b -= c;
  c = 0;
  const double cs1 = sab * t, sn1 = sac * t;
  return {cs * cs1 - sn * sn1, cs * sn1 + sn * cs1};
}

struct Shifts {
  double r1, i1, r2, i2;
};
Shifts double_shift(double h11, double h12, double h21, double h22) {
  const double s = std::abs(h11) + std::abs(h12) + std::abs(h21) + std::abs(h22);
  if (s == 0) return {0, 0, 0, 0};
  h11 /= s, h12 /= s, h21 /= s, h22 /= s;
  const double tr = (h11 + h22) / 2, det = (h11 - tr) * (h22 - tr) - h12 * h21, root = std::sqrt(std::abs(det));
  if (det >= 0) return {tr * s, root * s, tr * s, -root * s};
  const double r1 = tr + root, r2 = tr - root, nearer = (std::abs(r1 - h22) <= std::abs(r2 - h22) ? r1 : r2) * s;
  return {nearer, 0, nearer, 0};
}

// Real Schur form in place, z accumulates; false if it does not converge.
bool schur(View<double> h, View<double> z, int64_t low, int64_t high, Complex* values) {
  const int64_t n = h.n;
  for (int64_t i = 0; i < n; i++)
    if (i < low || i >= high) values[i] = h(i, i);
  const double negligible = kTiny * (static_cast<double>(high - low) / kUlp);
  for (int64_t i = high - 1; i >= low;) {
    int64_t l = low;
    int stuck = 0;
    for (int64_t tries = kIterations * std::max<int64_t>(10, high - low);; tries--) {
      l = block_start(h, i, low, high, negligible);
      if (l > low) h(l, l - 1) = 0;
      if (l >= i - 1) break;
      if (tries < 0) return false;
      stuck++;
      double h11 = h(i - 1, i - 1), h21 = h(i, i - 1), h12 = h(i - 1, i), h22 = h(i, i);
      if (stuck % kExceptional == 0) {
        const bool bottom = stuck % (2 * kExceptional) == 0;
        const double s =
            bottom ? std::abs(h(i, i - 1)) + std::abs(h(i - 1, i - 2)) : std::abs(h(l + 1, l)) + std::abs(h(l + 2, l + 1));
        h11 = h22 = 0.75 * s + (bottom ? h(i, i) : h(l, l));
        h12 = -0.4375 * s;
        h21 = s;
      }
      const Shifts t = double_shift(h11, h12, h21, h22);
      int64_t m = i - 2;
      double v[3];
      for (;; m--) {  // two consecutive small subdiagonals let the step start lower
        double s = std::abs(h(m, m) - t.r2) + std::abs(t.i2) + std::abs(h(m + 1, m));
        const double h21s = h(m + 1, m) / s;
        v[0] = h21s * h(m, m + 1) + (h(m, m) - t.r1) * ((h(m, m) - t.r2) / s) - t.i1 * (t.i2 / s);
        v[1] = h21s * (h(m, m) + h(m + 1, m + 1) - t.r1 - t.r2);
        v[2] = h21s * h(m + 2, m + 1);
        s = std::abs(v[0]) + std::abs(v[1]) + std::abs(v[2]);
        for (double& x : v) x /= s;
        if (m == l) break;
        if (std::abs(h(m, m - 1)) * (std::abs(v[1]) + std::abs(v[2])) <=
            kUlp * std::abs(v[0]) * (std::abs(h(m - 1, m - 1)) + std::abs(h(m, m)) + std::abs(h(m + 1, m + 1))))
          break;
      }
      for (int64_t k = m; k < i; k++) {
        const int64_t rows = std::min<int64_t>(3, i - k + 1);
        if (k > m)
          for (int64_t r = 0; r < rows; r++) v[r] = h(k + r, k - 1);
        const double tau = reflector(rows, v);
        if (k > m) {
          h(k, k - 1) = v[0];
          for (int64_t r = 1; r < rows; r++) h(k + r, k - 1) = 0;
        } else if (m > l) {
          h(k, k - 1) *= 1 - tau;
        }
        v[0] = 1;
        const auto reflect = [&](auto&& at) {
          double dot = 0;
          for (int64_t r = 0; r < rows; r++) dot += v[r] * at(r);
          dot *= tau;
          for (int64_t r = 0; r < rows; r++) at(r) -= dot * v[r];
        };
        for (int64_t j = k; j < n; j++) reflect([&](int64_t r) -> double& { return h(k + r, j); });
        for (int64_t j = 0; j <= std::min(k + 3, i); j++) reflect([&](int64_t r) -> double& { return h(j, k + r); });
        for (int64_t j = 0; j < n; j++) reflect([&](int64_t r) -> double& { return z(j, k + r); });
      }
    }
    if (l == i) {
      values[i] = h(i, i);
    } else {
      const Rotation r = standardise(h(i - 1, i - 1), h(i - 1, i), h(i, i - 1), h(i, i));
      const double b = h(i - 1, i), c = h(i, i - 1), imaginary = c == 0 ? 0 : std::sqrt(std::abs(b)) * std::sqrt(std::abs(c));
      values[i - 1] = Complex(h(i - 1, i - 1), imaginary);
      values[i] = Complex(h(i, i), -imaginary);
      for (int64_t j = i + 1; j < n; j++) r.apply(h(i - 1, j), h(i, j));
      for (int64_t j = 0; j < i - 1; j++) r.apply(h(j, i - 1), h(j, i));
      for (int64_t j = 0; j < n; j++) r.apply(z(j, i - 1), z(j, i));
    }
    i = l - 1;
  }
  return true;
}

// The complex one, with single shifts; subdiagonals are kept real.
bool schur(View<Complex> h, View<Complex> z, int64_t low, int64_t high, Complex* values) {
  const int64_t n = h.n;
  for (int64_t i = 0; i < n; i++)
    if (i < low || i >= high) values[i] = h(i, i);
  // Row i times f, column i over f, but for the diagonal.
  const auto turn = [&](int64_t i, Complex f, int64_t first_column, int64_t rows) {
    for (int64_t j = first_column; j < n; j++) h(i, j) *= f;
    for (int64_t j = 0; j < rows; j++) h(j, i) *= std::conj(f);
    for (int64_t j = 0; j < n; j++) z(j, i) *= std::conj(f);
  };
  for (int64_t i = low + 1; i < high; i++) {
    if (h(i, i - 1).imag() == 0) continue;
    const double r = std::abs(h(i, i - 1));
    const Complex f = std::conj(h(i, i - 1)) / r;
    h(i, i - 1) = r;
    turn(i, f, i, std::min(n, i + 2));
  }
  const double negligible = kTiny * (static_cast<double>(high - low) / kUlp);
  for (int64_t i = high - 1; i >= low;) {
    int64_t l = low;
    int stuck = 0;
    for (int64_t tries = kIterations * std::max<int64_t>(10, high - low);; tries--) {
      l = block_start(h, i, low, high, negligible);
      if (l > low) h(l, l - 1) = 0;
      if (l >= i) break;
      if (tries < 0) return false;
      stuck++;
      Complex t = h(i, i);
      if (stuck % (2 * kExceptional) == 0) {
        t += 0.75 * std::abs(h(i, i - 1).real());
      } else if (stuck % kExceptional == 0) {
        t = h(l, l) + 0.75 * std::abs(h(l + 1, l).real());
      } else {  // Wilkinson's shift
        const Complex u = std::sqrt(h(i - 1, i)) * std::sqrt(h(i, i - 1));
        if (size_of(u) != 0) {
          const Complex x = 0.5 * (h(i - 1, i - 1) - t);
          const double s = std::max(size_of(u), size_of(x));
          Complex y = s * std::sqrt((x / s) * (x / s) + (u / s) * (u / s));
          if (size_of(x) > 0 && x.real() * y.real() + x.imag() * y.imag() < 0) y = -y;
          t -= u * (u / (x + y));
        }
      }
      int64_t m = i - 1;
      Complex v[2];
      for (;; m--) {
        const Complex h11 = h(m, m), h22 = h(m + 1, m + 1), shifted = h11 - t;
        const double h21 = h(m + 1, m).real(), s = size_of(shifted) + std::abs(h21);
        v[0] = shifted / s;
        v[1] = h21 / s;
        if (m == l) break;
        if (std::abs(h(m, m - 1).real()) * std::abs(h21 / s) <= kUlp * (size_of(v[0]) * (size_of(h11) + size_of(h22)))) break;
      }
      for (int64_t k = m; k < i; k++) {
        if (k > m) v[0] = h(k, k - 1), v[1] = h(k + 1, k - 1);
        const Complex tau = reflector(2, v);
        if (k > m) h(k, k - 1) = v[0], h(k + 1, k - 1) = 0;
        const Complex w = v[1];
        for (int64_t j = k; j < n; j++) {
          const Complex dot = std::conj(tau) * (h(k, j) + std::conj(w) * h(k + 1, j));
          h(k, j) -= dot;
          h(k + 1, j) -= dot * w;
        }
        const auto from_right = [&](View<Complex> q, int64_t rows) {
          for (int64_t j = 0; j < rows; j++) {
            const Complex dot = tau * (q(j, k) + w * q(j, k + 1));
            q(j, k) -= dot;
            q(j, k + 1) -= dot * std::conj(w);
          }
        };
        from_right(h, std::min(k + 2, i) + 1);
        from_right(z, n);
        if (k == m && m > l) {  // the step started inside: the subdiagonal before it is turned back to real
          Complex f = 1.0 - tau;
          f /= std::abs(f);
          h(m + 1, m) *= std::conj(f);
          if (m + 2 <= i) h(m + 2, m + 1) *= f;
          for (int64_t j = m; j <= i; j++)
            if (j != m + 1) turn(j, f, j + 1, j);
        }
      }
      const Complex last = h(i, i - 1);
      if (last.imag() != 0) {
        const double r = std::abs(last);
        h(i, i - 1) = r;
        turn(i, std::conj(last / r), i + 1, i);
      }
    }
    values[i] = h(i, i);
    i = l - 1;
  }
  return true;
}

// ---- vectors

// x with T x = λ x for eigenvalue k of the Schur form; two columns of a real form share a complex
// pair.
template <class S>
std::vector<Complex> triangular_vector(View<S> t, int64_t k, Complex lambda) {
  std::vector<Complex> x(static_cast<std::size_t>(t.n));
  const double least = std::max(kUlp * size_of(lambda), kTiny * (static_cast<double>(t.n) / kUlp));
  const auto at = [&](int64_t i) -> Complex& { return x[static_cast<std::size_t>(i)]; };
  int64_t top = k;  // rows above are solved for
  at(k) = 1;
  if constexpr (std::is_same_v<S, double>) {
    if (lambda.imag() != 0) {  // columns k - 1 and k
      top = k - 1;
      if (std::abs(t(k - 1, k)) >= std::abs(t(k, k - 1))) at(k - 1) = 1, at(k) = Complex(0, lambda.imag() / t(k - 1, k));
      else at(k - 1) = -lambda.imag() / t(k, k - 1), at(k) = Complex(0, 1);
    }
  }
  const auto right_side = [&](int64_t i) {
    Complex s = 0;
    for (int64_t j = i + 1; j <= k; j++) s -= Complex(t(i, j)) * at(j);
    return s;
  };
  for (int64_t i = top - 1; i >= 0; i--) {
    if (std::is_same_v<S, double> && i > 0 && t(i, i - 1) != S(0)) {  // a 2x2 block on the diagonal
      const Complex a = Complex(t(i - 1, i - 1)) - lambda, d = Complex(t(i, i)) - lambda, b = t(i - 1, i), c = t(i, i - 1);
      Complex first = 0;
      for (int64_t j = i + 1; j <= k; j++) first -= Complex(t(i - 1, j)) * at(j);
      const Complex second = right_side(i);
      Complex determinant = a * d - b * c;
      if (std::abs(determinant) < least * least) determinant = least * least;
      at(i - 1) = (d * first - b * second) / determinant;
      at(i) = (a * second - c * first) / determinant;
      i--;
      continue;
    }
    Complex d = Complex(t(i, i)) - lambda;
    if (size_of(d) < least) d = least;
    at(i) = right_side(i) / d;
  }
  return x;
}

// A vector of norm one, turned until its largest component is real and positive: no sign that
// rounding decides.
void normalise(View<Complex> v, int64_t j) {
  double norm = 0;
  for (int64_t i = 0; i < v.n; i++) norm += std::norm(v(i, j));
  norm = std::sqrt(norm);
  int64_t largest = 0;
  for (int64_t i = 1; i < v.n; i++)
    if (std::norm(v(i, j)) > std::norm(v(largest, j))) largest = i;
  const Complex pivot = v(largest, j);
  const Complex turn = std::conj(pivot) / std::abs(pivot);
  for (int64_t i = 0; i < v.n; i++) v(i, j) *= turn / norm;
  v(largest, j) = v(largest, j).real();
}

}  // namespace

template <class S>
bool general_eigen(int64_t n, const S* matrix, Complex* values, Complex* vectors) {
  std::vector<S> memory(matrix, matrix + n * n), basis(memory.size());
  if (!all_finite(memory)) return false;
  const View<S> h{memory.data(), n}, q{basis.data(), n};
  const Balance balance = balanced(h);
  hessenberg(h, q, balance.low, balance.high);
  if (!schur(h, q, balance.low, balance.high, values)) return false;
  if (!vectors) return true;
  const View<Complex> v{vectors, n};
  constexpr bool real = std::is_same_v<S, double>;
  for (int64_t k = n - 1; k >= 0; k--) {
    const bool pair = real && values[k].imag() != 0;  // values[k - 1] is its conjugate, with a positive imaginary part
    const std::vector<Complex> x = triangular_vector(h, k, pair ? values[k - 1] : values[k]);
    for (int64_t i = 0; i < n; i++) {
      Complex s = 0;
      for (int64_t j = 0; j <= k; j++) s += Complex(q(i, j)) * x[static_cast<std::size_t>(j)];
      v(i, pair ? k - 1 : k) = s;
    }
    if (pair) k--;
  }
  undo(balance, v);
  for (int64_t k = 0; k < n; k++) {
    if (real && values[k].imag() == 0) {
      double norm = 0;
      for (int64_t i = 0; i < n; i++) norm += std::norm(v(i, k));
      for (int64_t i = 0; i < n; i++) v(i, k) = v(i, k).real() / std::sqrt(norm);
      continue;
    }
    normalise(v, k);
    if (!real) continue;
    for (int64_t i = 0; i < n; i++) v(i, k + 1) = std::conj(v(i, k));
    k++;
  }
  return true;
}

template bool general_eigen(int64_t, const double*, Complex*, Complex*);
template bool general_eigen(int64_t, const Complex*, Complex*, Complex*);

}  // namespace ingot
