// Dense matrix algorithms over a batch of column-major matrices, in double or complex double
// whatever the tensors' dtype: LU, Cholesky, triangular solves, Householder QR. Plain textbook
// loops in LAPACK's conventions (1-based pivots, the diagonal of R real, reflectors with a leading
// one that is not stored); `info` is 0 or the 1-based place of the failure.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "base/dtype.hpp"
#include "tensor/geometry.hpp"
#include "tensor/impl.hpp"
#include "tensor/rows.hpp"

namespace ingot {

inline float conj_of(float x) { return x; }
inline double conj_of(double x) { return x; }
inline std::complex<double> conj_of(std::complex<double> x) { return std::conj(x); }

// The memory of a batch of column-major matrices of one size.
class MatrixMemory {
 public:
  MatrixMemory(DType dtype, int64_t batch, int64_t rows, int64_t cols);
  // A copy of t, its batch dims broadcast to `batch_sizes`.
  MatrixMemory(DType dtype, const Tensor& t, const Shape& batch_sizes);

  // Writes all of them to a tensor [batch..., rows, cols] of any layout and dtype.
  void store(const Tensor& result) const;

  int64_t batch, rows, cols;

 protected:
  Tensor memory_;

 private:
  Tensor view(const Shape& batch_sizes) const;  // as [batch..., rows, cols]
};

// The same of double or complex double.
template <class S>
class Matrices : public MatrixMemory {
 public:
  static constexpr DType kDType = std::is_same_v<S, double> ? DType::f64 : DType::c128;

  Matrices(int64_t batch, int64_t rows, int64_t cols) : MatrixMemory(kDType, batch, rows, cols) {}
  Matrices(const Tensor& t, const Shape& batch_sizes) : MatrixMemory(kDType, t, batch_sizes) {}
  explicit Matrices(const Tensor& t) : Matrices(t, t.sizes().sub(0, t.sizes().size() - 2)) {}

  S* operator[](int64_t i) const { return memory_.data<S>() + i * rows * cols; }
};

// a b + c, rounded once in each component's sum: what numerical libraries make of a product that is
// added.
template <class T>
T multiply_add(T a, T b, T c) {
  return std::fma(a, b, c);
}
template <class T>
std::complex<T> multiply_add(std::complex<T> a, std::complex<T> b, std::complex<T> c) {
  return {std::fma(a.real(), b.real(), std::fma(-a.imag(), b.imag(), c.real())),
          std::fma(a.real(), b.imag(), std::fma(a.imag(), b.real(), c.imag()))};
}

// LAPACK chooses complex pivots by |re| + |im|.
inline double pivot_size(double x) { return std::abs(x); }
inline double pivot_size(std::complex<double> x) { return std::abs(x.real()) + std::abs(x.imag()); }

// a (m x n) = P L U in place; pivots[i]: row i was exchanged with row pivots[i] - 1. Without
// pivoting they are i + 1.
template <class S>
int32_t lu_factor(int64_t m, int64_t n, S* a, int32_t* pivots, bool pivot) {
  int32_t info = 0;
  for (int64_t k = 0; k < std::min(m, n); k++) {
    int64_t best = k;
    if (pivot)
      for (int64_t i = k + 1; i < m; i++)
        if (pivot_size(a[i + k * m]) > pivot_size(a[best + k * m])) best = i;
    pivots[k] = static_cast<int32_t>(best + 1);
    if (best != k)
      for (int64_t j = 0; j < n; j++) std::swap(a[k + j * m], a[best + j * m]);
    if (a[k + k * m] == S(0)) {
      if (info == 0) info = static_cast<int32_t>(k + 1);
      continue;
    }
    const S inverse = S(1) / a[k + k * m];
    for (int64_t i = k + 1; i < m; i++) a[i + k * m] *= inverse;
    for (int64_t j = k + 1; j < n; j++) {
      const S u = a[k + j * m];
      if (u == S(0)) continue;
      for (int64_t i = k + 1; i < m; i++) a[i + j * m] -= a[i + k * m] * u;
    }
  }
  return info;
}

// How a triangular matrix is used: its upper or lower part, as it is, transposed or
// conjugate-transposed.
enum class Use : uint8_t { plain, transpose, adjoint };
// x (n x cols) = op(a)^-1 x in place, a (n x n with leading dim lda) triangular.
template <class S>
void solve_triangular(int64_t n, int64_t cols, const S* a, int64_t lda, bool upper, Use use, bool unit, S* x) {
  const bool swapped = use != Use::plain;
  auto at = [&](int64_t i, int64_t j) {
    return !swapped ? a[i + j * lda] : use == Use::adjoint ? conj_of(a[j + i * lda]) : a[j + i * lda];
  };
  const bool backward = upper != swapped;  // op(a) is upper: last row first
  for (int64_t c = 0; c < cols; c++) {
    S* v = x + c * n;
    for (int64_t step = 0; step < n; step++) {
      const int64_t i = backward ? n - 1 - step : step;
      if (!unit) v[i] /= at(i, i);
      if (backward)
        for (int64_t k = 0; k < i; k++) v[k] -= at(k, i) * v[i];
      else
        for (int64_t k = i + 1; k < n; k++) v[k] -= at(k, i) * v[i];
    }
  }
}

// x (n x cols) = op(A)^-1 x with A = P L U from lu_factor.
template <class S>
void lu_solve(int64_t n, int64_t cols, const S* lu, const int32_t* pivots, Use use, S* x) {
  auto exchange = [&](int64_t i) {
    const int64_t p = pivots[i] - 1;
    if (p != i)
      for (int64_t c = 0; c < cols; c++) std::swap(x[i + c * n], x[p + c * n]);
  };
  if (use == Use::plain) {
    for (int64_t i = 0; i < n; i++) exchange(i);
    solve_triangular(n, cols, lu, n, false, Use::plain, true, x);
    solve_triangular(n, cols, lu, n, true, Use::plain, false, x);
  } else {
    solve_triangular(n, cols, lu, n, true, use, false, x);
    solve_triangular(n, cols, lu, n, false, use, true, x);
    for (int64_t i = n; i-- > 0;) exchange(i);
  }
}

// The lower triangle of a becomes L with A = L L^H, the upper one zero. Reads the lower triangle
// only.
template <class S>
int32_t cholesky(int64_t n, S* a) {
  for (int64_t j = 0; j < n; j++) {
    double d = std::real(a[j + j * n]);
    for (int64_t k = 0; k < j; k++) d -= std::norm(a[j + k * n]);
    if (!(d > 0)) return static_cast<int32_t>(j + 1);
    d = std::sqrt(d);
    a[j + j * n] = d;
    for (int64_t i = j + 1; i < n; i++) {
      S s = a[i + j * n];
      for (int64_t k = 0; k < j; k++) s -= a[i + k * n] * conj_of(a[j + k * n]);
      a[i + j * n] = s / d;
    }
    for (int64_t i = 0; i < j; i++) a[i + j * n] = 0;
  }
  return 0;
}

// The largest |re| or |im| of m numbers.
template <class S>
double largest_component(int64_t m, const S* x) {
  double largest = 0;
  for (int64_t i = 0; i < m; i++) largest = std::max({largest, std::abs(std::real(x[i])), std::abs(std::imag(x[i]))});
  return largest;
}

// I - tau v v^H with v[0] = 1 whose adjoint maps x (m long) to (beta, 0, …): x becomes v but for
// x[0], which becomes beta (real).
template <class S>
S reflector(int64_t m, S* x) {
  double below = 0;
  for (int64_t i = 1; i < m; i++) below += std::norm(x[i]);
  const double squared = std::norm(x[0]) + below;
  // Squares near the ends of the range lose digits, and the reflector would not be unitary: a
  // multiple of x has the same one.
  if (constexpr double kLeast = 1e-270, kMost = 1e300; squared < kLeast || squared > kMost)
    if (const double largest = largest_component(m, x); largest > 0 && std::isfinite(largest)) {
      for (int64_t i = 0; i < m; i++) x[i] /= largest;
      const S tau = reflector(m, x);
      x[0] *= largest;
      return tau;
    }
  if (below == 0 && std::imag(x[0]) == 0) return S(0);
  const double beta = -std::copysign(std::sqrt(squared), std::real(x[0]));
  const S tau = (S(beta) - x[0]) / beta, scale = S(1) / (x[0] - S(beta));
  for (int64_t i = 1; i < m; i++) x[i] *= scale;
  x[0] = S(beta);
  return tau;
}

// a (m x n) becomes R above and the reflectors below the diagonal: Q = H_0 … H_{k-1}, H_i = I -
// tau_i v v^H.
template <class S>
void householder_qr(int64_t m, int64_t n, S* a, S* tau) {
  for (int64_t k = 0; k < std::min(m, n); k++) {
    S* v = a + k + k * m;
    tau[k] = reflector(m - k, v);
    if (tau[k] == S(0)) continue;
    for (int64_t j = k + 1; j < n; j++) {  // H^H from the left
      S* c = a + k + j * m;
      S dot = c[0];
      for (int64_t i = 1; i < m - k; i++) dot += conj_of(v[i]) * c[i];
      dot *= conj_of(tau[k]);
      c[0] -= dot;
      for (int64_t i = 1; i < m - k; i++) c[i] -= v[i] * dot;
    }
  }
}
// q (m x cols, cols <= m or square) = the first columns of H_0 … H_{k-1}; reflectors in a (m x ≥k).
template <class S>
void householder_q(int64_t m, int64_t cols, int64_t k, const S* a, const S* tau, S* q) {
  for (int64_t j = 0; j < cols; j++)
    for (int64_t i = 0; i < m; i++) q[i + j * m] = S(i == j ? 1.0 : 0.0);
  for (int64_t r = k; r-- > 0;) {
    const S* v = a + r + r * m;
    for (int64_t j = 0; j < cols; j++) {
      S* c = q + r + j * m;
      S dot = c[0];
      for (int64_t i = 1; i < m - r; i++) dot += conj_of(v[i]) * c[i];
      dot *= tau[r];
      c[0] -= dot;
      for (int64_t i = 1; i < m - r; i++) c[i] -= v[i] * dot;
    }
  }
}

}  // namespace ingot
