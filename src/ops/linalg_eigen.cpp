#include "ops/linalg_eigen.hpp"

#include <eigen3/Eigen/Eigenvalues>
#include <eigen3/Eigen/SVD>

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
  if (vectors) Out<S>(vectors, n, n) = e.eigenvectors();
  return true;
}

template <class S>
bool general_eigen(int64_t n, const S* a, Complex* values, Complex* vectors) {
  const In<S> in(a, n, n);
  if (!in.allFinite()) return false;
  auto take = [&](const auto& e) {
    if (e.info() != Eigen::Success) return false;
    Eigen::Map<Eigen::VectorXcd>(values, n) = e.eigenvalues();
    if (!vectors) return true;
    Out<Complex> v(vectors, n, n);
    v = e.eigenvectors();
    for (int64_t j = 0; j < n; j++) {
      Eigen::Index largest = 0;
      v.col(j).cwiseAbs2().maxCoeff(&largest);
      const Complex pivot = v(largest, j);
      // A real vector keeps its sign; a complex one is turned until its largest component is real.
      const Complex turn = pivot.imag() == 0 ? Complex(1) : std::conj(pivot) / std::abs(pivot);
      v.col(j) *= turn / v.col(j).norm();
      if (pivot.imag() != 0) v(largest, j) = v(largest, j).real();
    }
    return true;
  };
  const bool with_vectors = vectors != nullptr;
  if constexpr (std::is_same_v<S, double>) return take(Eigen::EigenSolver<Matrix<double>>(in, with_vectors));
  else return take(Eigen::ComplexEigenSolver<Matrix<S>>(in, with_vectors));
}

template <class S>
bool singular_values(int64_t m, int64_t n, const S* a, bool full, S* u, double* s, S* vh) {
  const In<S> in(a, m, n);
  if (!in.allFinite()) return false;
  const int64_t k = std::min(m, n);
  const unsigned options = !u ? 0 : full ? Eigen::ComputeFullU | Eigen::ComputeFullV : Eigen::ComputeThinU | Eigen::ComputeThinV;
  const Eigen::BDCSVD<Matrix<S>> d(in, options);
  if (d.info() != Eigen::Success) return false;
  RealVector(s, k) = d.singularValues();
  if (u) {
    Out<S>(u, m, full ? m : k) = d.matrixU();
    Out<S>(vh, full ? n : k, n) = d.matrixV().adjoint();
  }
  return true;
}

template bool hermitian_eigen(int64_t, const double*, bool, double*, double*);
template bool hermitian_eigen(int64_t, const Complex*, bool, double*, Complex*);
template bool general_eigen(int64_t, const double*, Complex*, Complex*);
template bool general_eigen(int64_t, const Complex*, Complex*, Complex*);
template bool singular_values(int64_t, int64_t, const double*, bool, double*, double*, double*);
template bool singular_values(int64_t, int64_t, const Complex*, bool, Complex*, double*, Complex*);

}  // namespace ingot
