// Spectral decompositions: Hermitian ones (hermitian_eigen.cpp), general ones (general_eigen.cpp)
// and singular values (singular_values.cpp). They follow LAPACK step by step, because the order of
// eigenvalues and the signs of vectors are nothing but the choices of the algorithm.
// Matrices are column-major and dense. False: the iteration did not converge (a NaN or infinity in
// the input).
#pragma once
#include <complex>
#include <cstdint>

namespace ingot {

// Eigenvalues of the Hermitian a (n x n), ascending, and orthonormal eigenvectors (or null). Only
// one triangle of a is read, and its diagonal without the imaginary part. `epsilon`: the precision
// that is asked for. The signs of the vectors depend on it, because it decides how many steps the
// iteration takes.
template <class S>
bool hermitian_eigen(int64_t n, const S* a, bool upper, double* values, S* vectors, double epsilon);

// Eigenvalues of a (n x n) and eigenvectors of norm 1 whose largest component is real (or null).
template <class S>
bool general_eigen(int64_t n, const S* a, std::complex<double>* values, std::complex<double>* vectors);

// a (m x n) = u diag(s) vh with k = min(m, n) singular values, descending. `full`: u is m x m and
// vh n x n, else m x k and k x n. u and vh may both be null.
template <class S>
bool singular_values(int64_t m, int64_t n, const S* a, bool full, S* u, double* s, S* vh);

}  // namespace ingot
