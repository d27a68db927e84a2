// Decompositions against what they decompose: every factorisation multiplied back, every equation
// solved put in again.
#include <gtest/gtest.h>

#include <cmath>

#include "check/spectral.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"

namespace ingot {
namespace {

Tensor random(Shape sizes, DType dtype, uint64_t seed) {
  manual_seed(seed);
  return aten<"randn">(std::move(sizes), dtype);
}
Tensor adjoint(const Tensor& t) { return aten<"conj_physical">(t.transpose(-2, -1)); }
double largest(const Tensor& t) { return t.numel() == 0 ? 0 : t.abs().max().item_double(); }
void expect_equal(const Tensor& got, const Tensor& want, double bound, const std::string& what) {
  ASSERT_EQ(to_text(got.sizes()), to_text(want.sizes())) << what;
  EXPECT_LT(largest(got - want), bound) << what;
}

// L D L^T of a packed real factorisation that made no exchanges.
Tensor multiplied_back(const Tensor& packed, const Tensor& pivots) {
  const int64_t n = packed.size(-1).value();
  const Tensor l = aten<"tril">(packed, -1) + aten<"eye">(n, packed.dtype()), d = aten<"diag">(packed.diagonal());
  const std::vector<int64_t> p = pivots.to_vector<int64_t>();
  for (int64_t k = 0; k < n; k++)
    if (p[static_cast<std::size_t>(k)] < 0) {  // a 2x2 block: its lower element belongs to D
      d[k + 1].select(0, k).copy_(packed[k + 1][k]);
      d[k].select(0, k + 1).copy_(packed[k + 1][k]);
      l[k + 1].select(0, k).copy_(scalar_tensor(0.0, {.dtype = float64}));
      k++;
    }
  return l.matmul(d).matmul(l.transpose(0, 1));
}

TEST(Linalg, SymmetricFactorisationSolves) {
  for (bool hermitian : {false, true})
    for (DType t : {DType::f64, DType::c128})
      for (uint64_t seed = 0; seed < 30; seed++) {
        if (hermitian && t == DType::f64) continue;
        const int64_t n = 1 + static_cast<int64_t>(seed % 7);
        const Tensor x = random({n, n}, t, seed), a = x + (hermitian ? adjoint(x) : x.transpose(0, 1)),
                     b = random({n, 2}, t, seed + 100);
        const TensorList f = atens<"linalg_ldl_factor_ex">(a, hermitian);
        const Tensor solution = aten<"linalg_ldl_solve">(f[0], f[1], b, hermitian);
        EXPECT_LT(largest(a.matmul(solution) - b), 1e-8 * (1 + largest(solution))) << "seed " << seed;
      }
}

TEST(Linalg, SymmetricFactorsAreBlocksAndTriangles) {
  // A zero diagonal asks for a 2x2 block.
  const Tensor a = tensor(std::vector<double>{0, 4, 4, 0}, {2, 2}, float64);
  const TensorList f = atens<"linalg_ldl_factor_ex">(a);
  EXPECT_EQ(f[1].to_vector<int64_t>(), (std::vector<int64_t>{-2, -2}));
  expect_equal(multiplied_back(f[0], f[1]), a, 1e-12, "2x2 block");
  const Tensor definite = tensor(std::vector<double>{4, 2, 2, 5}, {2, 2}, float64);
  const TensorList g = atens<"linalg_ldl_factor_ex">(definite);
  EXPECT_EQ(g[1].to_vector<int64_t>(), (std::vector<int64_t>{1, 2}));
  expect_equal(multiplied_back(g[0], g[1]), definite, 1e-12, "two 1x1 blocks");
  EXPECT_EQ(atens<"linalg_ldl_factor_ex">(aten<"zeros">(Shape{2, 2}, DType::f64))[2].item_int(), 1) << "the first zero pivot";
}

TEST(Linalg, EigenvectorsSatisfyTheirEquation) {
  for (DType t : {DType::f64, DType::c128})
    for (uint64_t seed = 0; seed < 20; seed++) {
      const int64_t n = 1 + static_cast<int64_t>(seed);
      Tensor a = random({n, n}, t, seed);
      if (seed % 4 == 1) a = aten<"triu">(a);  // eigenvalues isolated by balancing
      if (seed % 4 == 2) a = a * aten<"logspace">(-6, 6, n, 10.0, t).unsqueeze(-1);  // badly scaled
      const TensorList e = atens<"linalg_eig">(a);
      const Tensor left = a.to(DType::c128).matmul(e[1]), right = e[1] * e[0].unsqueeze(-2);
      EXPECT_LT(largest(left - right), 1e-9 * (1 + largest(a))) << "size " << n;
      expect_equal(aten<"linalg_vector_norm">(e[1], 2, Shape{0}), aten<"ones">(Shape{n}, DType::f64), 1e-12, "norm one");
      for (int64_t k = 0; k < n; k++) {
        if (t == DType::f64 && e[0][k].item().to_complex().imag() == 0) continue;
        const Tensor v = e[1].select(1, k);
        const std::complex<double> pivot = v[v.abs().argmax().item_int()].item().to_complex();
        EXPECT_TRUE(pivot.imag() == 0 && pivot.real() > 0) << "vector " << k << " of size " << n << ": " << pivot;
      }
    }
  const TensorList rotation = atens<"linalg_eig">(tensor(std::vector<double>{0, -1, 1, 0}, {2, 2}, float64));
  EXPECT_EQ(rotation[0][0].item().to_complex(), std::complex<double>(0, 1)) << "the eigenvalue above the axis comes first";
}

// Values, ascending, and orthonormal vectors of the Hermitian a, computed from either triangle:
// what is in the other one does not matter.
void expect_hermitian_eigen(const Tensor& a, const std::string& what) {
  const int64_t n = a.size(-1).value();
  const double size = largest(a), bound = 1e-13 * static_cast<double>(n);
  const Tensor scaled = size > 0 ? a / size : a, nan = aten<"full_like">(a, NAN);
  for (bool upper : {false, true}) {
    const std::string where = what + ", size " + std::to_string(n) + (upper ? ", upper" : ", lower");
    const Tensor half = upper ? aten<"triu">(a) + aten<"tril">(nan, -1) : aten<"tril">(a) + aten<"triu">(nan, 1);
    const TensorList e = atens<"_linalg_eigh">(half, upper ? "U" : "L", true),
                     alone = atens<"_linalg_eigh">(half, upper ? "U" : "L", false);
    const Tensor values = size > 0 ? e[0] / size : e[0];
    expect_equal(scaled.matmul(e[1]), e[1] * values.unsqueeze(-2), bound, where);
    expect_equal(adjoint(e[1]).matmul(e[1]), aten<"eye">(n, a.dtype()), bound, where);
    expect_equal(alone[0], e[0], bound * size + 1e-320, where + ", values alone");
    if (n > 1) {
      EXPECT_GE(aten<"min">(values.narrow(0, 1, n - 1) - values.narrow(0, 0, n - 1)).item_double(), 0) << where;
    }
  }
}

TEST(Linalg, HermitianEigenvectorsAreOrthonormal) {
  for (DType t : {DType::f64, DType::c128})
    for (int64_t n : {1, 2, 3, 4, 5, 8, 17, 40}) {
      const Tensor x = random({n, n}, t, static_cast<uint64_t>(n)), a = x + adjoint(x), one = aten<"eye">(n, t);
      expect_hermitian_eigen(a, "random");
      expect_hermitian_eigen(a * 1e300, "huge");
      expect_hermitian_eigen(a * 1e-300, "tiny");
      expect_hermitian_eigen(one - one, "zero");
      expect_hermitian_eigen(one, "identity");
      expect_hermitian_eigen(one * a, "diagonal");
      expect_hermitian_eigen(x.narrow(1, 0, 1).matmul(adjoint(x.narrow(1, 0, 1))), "rank one");
      const Tensor q = atens<"_linalg_eigh">(a, "L", true)[1], few = aten<"remainder.Scalar">(aten<"arange">(n, DType::f64), 3);
      expect_hermitian_eigen((q * few).matmul(adjoint(q)), "three values");
      // Squares of all elements but one vanish.
      const Tensor lonely = a * 1e-160;
      lonely[0].select(0, 0).copy_(scalar_tensor(1.0, {.dtype = float64}));
      expect_hermitian_eigen(lonely, "one large element");
      EXPECT_ANY_THROW(atens<"_linalg_eigh">(a * NAN, "L", true));
      EXPECT_ANY_THROW(atens<"_linalg_eigh">(a * INFINITY, "L", false));
    }
}

TEST(Linalg, HermitianEigenvectorsHaveTheSignsOfLapack) {
  const Tensor real = tensor(std::vector<double>{2, 1, 1, 2}, {2, 2}, float64);
  const double half = std::sqrt(0.5);
  expect_equal(atens<"linalg_eigh">(real)[1], tensor(std::vector<double>{-half, half, half, half}, {2, 2}, float64), 1e-15,
               "real");
  const auto complex = [](std::vector<double> re, std::vector<double> im) {
    return aten<"complex">(tensor(std::move(re), {2, 2}, float64), tensor(std::move(im), {2, 2}, float64));
  };
  const double c = std::cos(M_PI / 8), s = std::sin(M_PI / 8);
  const Tensor vectors = atens<"linalg_eigh">(complex({1, 0, 0, 5}, {0, -2, 2, 0}))[1];
  expect_equal(vectors, complex({-c, -s, 0, 0}, {0, 0, s, -c}), 1e-15, "complex");
}

TEST(Linalg, SingularVectorsMultiplyBack) {
  for (DType t : {DType::f64, DType::c128})
    for (int64_t m = 0; m < 9; m++)
      for (int64_t n = 0; n < 9; n++)
        for (bool full : {false, true}) {
          Tensor a = random({2, m, n}, t, static_cast<uint64_t>(m * 10 + n));
          if (n > 1) a[0].select(1, n - 1).copy_(a[0].select(1, 0));  // one of the two is singular
          const TensorList d = atens<"_linalg_svd">(a, full);
          const int64_t k = std::min(m, n);
          const Tensor u = d[0].narrow(-1, 0, k), vh = d[2].narrow(-2, 0, k);
          const std::string what = to_text(a.sizes()) + (full ? " full" : "");
          expect_equal((u * d[1].unsqueeze(-2)).matmul(vh), a, 1e-12, what);
          expect_equal(adjoint(d[0]).matmul(d[0]), aten<"eye">(d[0].size(-1), t).expand({2, d[0].size(-1), d[0].size(-1)}), 1e-12,
                       what);
          expect_equal(d[2].matmul(adjoint(d[2])), aten<"eye">(d[2].size(-2), t).expand({2, d[2].size(-2), d[2].size(-2)}), 1e-12,
                       what);
          if (k > 1) {
            EXPECT_GE(aten<"min">(d[1].narrow(-1, 0, k - 1) - d[1].narrow(-1, 1, k - 1)).item_double(), 0) << what;
          }
        }
}

TEST(Linalg, MatrixExponentialOfEveryDegree) {
  // exp(A) exp(-A) = 1 at norms that take each polynomial, one matrix at a time and in a batch.
  for (DType t : {DType::f64, DType::c128})
    for (double norm : {1e-17, 1e-9, 1e-5, 1e-2, 0.2, 0.9, 5.0, 40.0}) {
      Tensor a = random({4, 4}, t, 3);
      a = a * (norm / a.abs().sum({0}).max().item_double());
      const Tensor one = aten<"eye">(4, t), product = aten<"matrix_exp">(a).matmul(aten<"matrix_exp">(-a));
      EXPECT_LT(largest(product - one), 1e-10 * std::exp(norm)) << norm;
      const Tensor batch = aten<"matrix_exp">(stack({a, a}));
      EXPECT_LT(largest(batch[1] - aten<"matrix_exp">(a)), 1e-12 * std::exp(norm)) << norm;
    }
  const Tensor nilpotent = tensor(std::vector<double>{0, 2, 0, 0}, {2, 2}, float64);
  expect_equal(aten<"matrix_exp">(nilpotent), tensor(std::vector<double>{1, 2, 0, 1}, {2, 2}, float64), 1e-15, "I + N");
}

TEST(Linalg, DecompositionsAreComparedUpToPhaseAndOrder) {
  const Tensor x = random({4, 4}, DType::c128, 5), a = x + adjoint(x);
  const TensorList e = atens<"linalg_eigh">(a);
  const SpectralFreedom* hermitian = spectral_freedom({"aten.linalg_eigh.default"});
  ASSERT_TRUE(hermitian);
  const Tensor phases = aten<"polar">(aten<"ones">(Shape{4}, DType::f64), random({4}, DType::f64, 6));
  const TensorList turned{e[0], e[1] * phases};
  expect_equal(align_results(*hermitian, turned, e)[1], e[1], 1e-12, "phases");
  EXPECT_GT(largest(align_results(*hermitian, {e[0], aten<"flip">(e[1], Shape{1})}, e)[1] - e[1]), 0.1)
      << "other vectors stay other vectors";

  const SpectralFreedom* general = spectral_freedom({"<built-in function getitem>", "aten.linalg_eig.default"});
  ASSERT_TRUE(general);
  const TensorList g = atens<"linalg_eig">(x);
  const TensorList mixed = align_results(*general, {aten<"flip">(g[0], Shape{0}), aten<"flip">(g[1], Shape{1}) * phases}, g);
  expect_equal(mixed[0], g[0], 1e-12, "order of values");
  expect_equal(mixed[1], g[1], 1e-12, "order of vectors");
  EXPECT_FALSE(spectral_freedom({"aten.linalg_eigh.default", "aten.mul.Tensor"}))
      << "what is made of vectors is compared as it is";
}

}  // namespace
}  // namespace ingot
