#include "ops/linalg_eigen.hpp"

#include <eigen3/Eigen/Eigenvalues>

namespace ingot {
namespace {

template <class S>
using Matrix = Eigen::Matrix<S, Eigen::Dynamic, Eigen::Dynamic>;  // column-major
template <class S>
using In = Eigen::Map<const Matrix<S>>;
template <class S>
using Out = Eigen::Map<Matrix<S>>;
using RealVector = Eigen::Map<Eigen::VectorXd>;
using Complex = std::complex<double>;

}  // namespace

template <class S>
bool hermitian_eigen(int64_t n, const S* a, bool upper, double* values, S* vectors) {
  const In<S> in(a, n, n);
  if (!in.allFinite()) return false;
  // Eigen reads the lower triangle: the upper one's mirror image is it.
  const Matrix<S> m = upper ? Matrix<S>(in.adjoint()) : Matrix<S>(in);
  const Eigen::SelfAdjointEigenSolver<Matrix<S>> e(m, vectors ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly);
  if (e.info() != Eigen::Success) return false;
  RealVector(values, n) = e.eigenvalues();
  if (!vectors) return true;
  Out<S> v(vectors, n, n);
  v = e.eigenvectors();
  if constexpr (!std::is_same_v<S, double>) {
    // The reduction to tridiagonal form leaves one component of each vector real in LAPACK.
    const int64_t real = upper ? n - 1 : 0;
    for (int64_t j = 0; j < n; j++)
      if (const double size = std::abs(v(real, j)); size > 0) {
        v.col(j) *= std::conj(v(real, j)) / size;
        v(real, j) = size;
      }
  }
  return true;
}

template bool hermitian_eigen(int64_t, const double*, bool, double*, double*);
template bool hermitian_eigen(int64_t, const Complex*, bool, double*, Complex*);

}  // namespace ingot
