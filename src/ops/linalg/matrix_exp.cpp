// The matrix exponential by Taylor polynomials of degree 1, 2, 4, 8, 12 or 18 with few products
// (Bader, Blanes and Casas, "Computing the Matrix Exponential with an Optimized Taylor Polynomial
// Approximation", 2019). The degree follows from the norm; a matrix past the last bound is scaled
// by a power of two, and its exponential squared as often. Squaring amplifies rounding: what
// PyTorch shows of complex64 depends on this very algorithm in that precision; its float32 is up to
// 34 times the usual bound from the truth, and is computed in double here.
#include <array>
#include <cmath>

#include "ops/batch/rules.hpp"
#include "ops/family.hpp"
#include "ops/linalg/linalg.hpp"

namespace ingot {
namespace {

template <class S>
using RealOf = decltype(std::abs(S{}));

// Square matrices of one size in one precision, column-major.
template <class S>
class Algebra {
 public:
  using Matrix = std::vector<S>;
  using Real = RealOf<S>;
  explicit Algebra(int64_t n) : n_(n) {}

  Matrix identity() const {
    Matrix r(static_cast<std::size_t>(n_ * n_));
    for (int64_t i = 0; i < n_; i++) r[static_cast<std::size_t>(i * (n_ + 1))] = S(1);
    return r;
  }
  // PyTorch's loop for small matrices rounds products and sums, its library for larger ones fuses
  // them.
  Matrix product(const Matrix& a, const Matrix& b) const {
    const bool fused = n_ * n_ * n_ >= 400;
    Matrix r(a.size());
    for (int64_t j = 0; j < n_; j++)
      for (int64_t k = 0; k < n_; k++) {
        const S t = b[static_cast<std::size_t>(k + j * n_)];
        const S* from = a.data() + k * n_;
        S* to = r.data() + j * n_;
        if (fused)
          for (int64_t i = 0; i < n_; i++) to[i] = multiply_add(from[i], t, to[i]);
        else
          for (int64_t i = 0; i < n_; i++) to[i] += from[i] * t;
      }
    return r;
  }
  template <std::size_t N>
  Matrix combination(const std::array<const Matrix*, N>& terms, const std::array<double, N>& factors) const {
    Matrix r(terms[0]->size());
    for (std::size_t k = 0; k < N; k++)
      for (std::size_t i = 0; i < r.size(); i++) r[i] += (*terms[k])[i] * static_cast<Real>(factors[k]);
    return r;
  }
  Matrix sum(const Matrix& a, const Matrix& b) const {
    Matrix r = a;
    for (std::size_t i = 0; i < r.size(); i++) r[i] += b[i];
    return r;
  }
  Real norm(const Matrix& a) const {  // the largest column sum, NaN if any is
    Real largest = 0;
    for (int64_t j = 0; j < n_; j++) {
      Real column = 0;
      for (int64_t i = 0; i < n_; i++) column += std::abs(a[static_cast<std::size_t>(i + j * n_)]);
      if (!(column <= largest)) largest = column;
    }
    return largest;
  }

 private:
  int64_t n_;
};

template <class S>
std::vector<S> taylor_8(const Algebra<S>& m, const std::vector<S>& one, const std::vector<S>& a) {
  constexpr double root = 13.30413469565007072504, x3 = 2. / 3.;
  constexpr double x1 = x3 * ((1 + root) / 88), x2 = x3 * ((1 + root) / 352), x4 = (-271 + 29 * root) / (315 * x3);
  constexpr double x5 = (-11 + 11 * root) / (1260 * x3), x6 = (-99 + 11 * root) / (5040 * x3), x7 = (89 - root) / (5040 * x3);
  constexpr double y2 = (857 - 58 * root) / 630;
  const auto a2 = m.product(a, a);
  const auto a4 = m.product(a2, m.template combination<2>({&a, &a2}, {x1, x2}));
  const auto a8 = m.product(m.template combination<2>({&a2, &a4}, {x3, 1}),
                            m.template combination<4>({&one, &a, &a2, &a4}, {x4, x5, x6, x7}));
  return m.template combination<4>({&one, &a, &a2, &a8}, {1, 1, y2, 1});
}
template <class S>
std::vector<S> taylor_12(const Algebra<S>& m, const std::vector<S>& one, const std::vector<S>& a) {
  const auto a2 = m.product(a, a), a3 = m.product(a, a2);
  const auto b = [&](const std::array<double, 4>& f) { return m.template combination<4>({&one, &a, &a2, &a3}, f); };
  const auto b0 = b({9.0198e-16, 0.46932117595418237389, -0.20099424927047284052, -0.04623946134063071740});
  const auto b1 = b({5.31597895759871264183, 1.19926790417132231573, 0.01179296240992997031, 0.01108844528519167989});
  const auto b2 = b({0.18188869982170434744, 0.05502798439925399070, 0.09351590770535414968, 0.00610700528898058230});
  const auto b3 = b({-2.0861320e-13, -0.13181061013830184015, -0.02027855540589259079, -0.00675951846863086359});
  const auto a6 = m.sum(b2, m.product(b3, b3));
  return m.sum(b0, m.product(m.sum(b1, a6), a6));
}
template <class S>
std::vector<S> taylor_18(const Algebra<S>& m, const std::vector<S>& one, const std::vector<S>& a) {
  const auto a2 = m.product(a, a), a3 = m.product(a, a2), a6 = m.product(a3, a3);
  const auto b = [&](const std::array<double, 5>& f) { return m.template combination<5>({&one, &a, &a2, &a3, &a6}, f); };
  const auto b0 = b({0, -1.00365581030144618291e-01, -8.02924648241156932449e-03, -8.92138498045729985177e-04, 0});
  const auto b1 =
      b({0, 3.97849749499645077844e-01, 1.36783778460411720168e+00, 4.98289622525382669416e-01, -6.37898194594723280150e-04});
  const auto b2 = b({-1.09676396052962061844e+01, 1.68015813878906206114e+00, 5.71779846478865511061e-02,
                     -6.98210122488052056106e-03, 3.34975017086070470649e-05});
  const auto b3 = b({-9.04316832390810593223e-02, -6.76404519071381882256e-02, 6.75961301770459654925e-02,
                     2.95552570429315521194e-02, -1.39180257516060693404e-05});
  const auto b4 = b({0, 0, -9.23364619367118555360e-02, -1.69364939002081722752e-02, -1.40086798182036094347e-05});
  const auto a9 = m.sum(b3, m.product(b0, b4));
  return m.sum(b1, m.product(m.sum(b2, a9), a9));
}

// Up to which norm the polynomials of degree 1, 2, 4, 8, 12 and 18 are exact to the last place.
template <class Real>
constexpr std::array<double, 6> kBounds = {2.220446049250313e-16, 2.580956802971767e-08, 3.397168839976962e-04,
                                           4.991228871115323e-02, 2.996158913811580e-01, 1.090863719290036e+00};
template <>
constexpr std::array<double, 6> kBounds<float> = {1.192092800768788e-07, 5.978858893805233e-04, 5.116619363445086e-02,
                                                  5.800524627688768e-01, 1.461661507209034e+00, 3.010066362817634e+00};

// PyTorch takes the highest degree for every matrix of a batch.
template <class S>
std::vector<S> exponential(int64_t n, std::vector<S> a, bool highest_degree) {
  using Real = RealOf<S>;
  const Algebra<S> m(n);
  const std::vector<S> one = m.identity();
  const auto& bounds = kBounds<Real>;
  const Real norm = m.norm(a);
  const auto within = [&](int k) { return !highest_degree && norm <= static_cast<Real>(bounds[static_cast<std::size_t>(k)]); };
  if (std::isnan(norm)) return std::vector<S>(a.size(), S(norm));
  if (within(0)) return m.sum(one, a);
  if (within(1)) {
    auto half_square = m.product(a, a);
    for (S& x : half_square) x /= Real(2);
    return m.sum(m.sum(one, a), half_square);
  }
  if (within(2)) {
    const auto a2 = m.product(a, a);
    const auto tail = m.product(a2, m.template combination<3>({&one, &a, &a2}, {1 / 2.0, 1 / 6.0, 1 / 24.0}));
    return m.template combination<3>({&one, &a, &tail}, {1, 1, 1});
  }
  if (within(3)) return taylor_8(m, one, a);
  if (within(4)) return taylor_12(m, one, a);
  const Real steps = std::ceil(std::log2(norm / static_cast<Real>(bounds[5])));
  // An infinite norm has no scale that helps: the powers below then hold the infinities and NaNs.
  const int squarings = steps > 0 && std::isfinite(steps) ? static_cast<int>(steps) : 0;
  const Real scale = std::ldexp(Real(1), -squarings);
  for (S& x : a) x *= scale;
  auto r = taylor_18(m, one, a);
  for (int s = 0; s < squarings; s++) r = m.product(r, r);
  return r;
}

void matrix_exp_meta(const Call& c, Outputs& o) {
  const Tensor& a = c.tensor(0);
  INGOT_REQUIRE(a.dim() >= 2 && a.size(-1) == a.size(-2), "linalg.matrix_exp: A must be batches of square matrices, found ",
                a.sizes());
  INGOT_REQUIRE(is_floating(a.dtype()) || is_complex(a.dtype()),
                "linalg.matrix_exp: Expected a floating point or complex tensor as input. Got ", scalar_type_name(a.dtype()));
  o.add(a.sizes(), a.dtype());
}
// S: the precision of the algorithm, Wide: that of Matrices.
template <class S, class Wide>
void exponentials(const Tensor& from, const Tensor& to) {
  const Matrices<Wide> m(from);
  const int64_t n = m.rows;
  for_batch(n > 0 ? m.batch : 0, 20 * n * n * n, [&](int64_t i) {
    if (n == 1) {
      m[i][0] = Wide(std::exp(S(m[i][0])));
      return;
    }
    const std::vector<S> r = exponential(n, std::vector<S>(m[i], m[i] + n * n), m.batch > 1);
    std::copy(r.begin(), r.end(), m[i]);
  });
  m.store(to);
}
void matrix_exp_kernel(const Call& c, std::span<const Tensor> r) {
  switch (r[0].dtype()) {
    case DType::c128: return exponentials<std::complex<double>, std::complex<double>>(c.tensor(0), r[0]);
    case DType::c64: return exponentials<std::complex<float>, std::complex<double>>(c.tensor(0), r[0]);
    default: return exponentials<double, double>(c.tensor(0), r[0]);
  }
}
// The derivative at A in direction G is the upper right block of exp [[A, G], [0, A]].
Tensor matrix_exp_differential(const Tensor& a, const Tensor& g) {
  const Int n = a.size(-1);
  const Tensor top = cat({a, g}, -1), bottom = cat({aten<"zeros_like">(a), a}, -1);
  return aten<"linalg_matrix_exp">(cat({top, bottom}, -2)).narrow(-2, 0, n).narrow(-1, n, n);
}

constexpr OpDef kMatrixExpOps[] = {
    {.schema = "aten::linalg_matrix_exp(Tensor self) -> Tensor",
     .meta = matrix_exp_meta,
     .kernel = matrix_exp_kernel,
     .vjp = [](Vjp& v) { v.set(0, matrix_exp_differential(adjoint(v.saved(0)), v.grad())); },
     .saves = {{0}},
     .batch = batch_leading},
    {.schema = "aten::matrix_exp(Tensor self) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value { return aten<"linalg_matrix_exp">(c[0]); }},
    {.schema = "aten::matrix_exp_backward(Tensor self, Tensor grad) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value { return matrix_exp_differential(adjoint(c.tensor(0)), c.tensor(1)); }},
};

}  // namespace

INGOT_FAMILY(matrix_exp, kMatrixExpOps)

}  // namespace ingot
