// The innermost part of gemm: a block of C from packed panels of A and B, for one instruction set
// level.
//
// Packed A: panels of kMR rows, element (i, p) of a panel at p * kMR + i. Packed B: panels of kNR
// columns, element (p, j) of a panel at p * kNR + j. Panels are padded with zeros to full width, so
// a tile is always computed whole and an element of C does not depend on where its tile lies.
//
// Everything is always_inline: the caller gives it the instruction set by a target attribute.
#pragma once
#include <complex>
#include <cstdint>

#include "base/long_sum.hpp"

namespace ingot::kernels::detail {

#define INGOT_INLINE inline __attribute__((always_inline))

template <class T>
INGOT_INLINE void multiply_add(T& sum, T a, T b) {
  sum += a * b;
}
INGOT_INLINE void multiply_add(int64_t& sum, int64_t a, int64_t b) {  // unsigned: overflow wraps
  sum = static_cast<int64_t>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
// By hand: operator* of std::complex calls into libgcc.
template <class R>
INGOT_INLINE void multiply_add(std::complex<R>& sum, std::complex<R> a, std::complex<R> b) {
  sum = {sum.real() + (a.real() * b.real() - a.imag() * b.imag()), sum.imag() + (a.real() * b.imag() + a.imag() * b.real())};
}

// A tile's run: out = sum of k products, or out += it.

// One tile of scalars, for types without vector arithmetic.
template <class T, int MR, int NR>
struct ScalarTile {
  static constexpr int kMR = MR, kNR = NR;
  static INGOT_INLINE void run(int64_t k, const T* a, const T* b, bool adds, T* out) {
    T sum[MR][NR] = {};
    for (int64_t p = 0; p < k; ++p, a += MR, b += NR)
      for (int i = 0; i < MR; ++i)
        for (int j = 0; j < NR; ++j) multiply_add(sum[i][j], a[i], b[j]);
    for (int i = 0; i < MR; ++i)
      for (int j = 0; j < NR; ++j) {
        if (adds) multiply_add(sum[i][j], T(1), out[i * NR + j]);
        out[i * NR + j] = sum[i][j];
      }
  }
};

// One tile of MR rows of NV vectors of `Bytes` bytes, held in registers over the whole of k.
template <class T, int Bytes, int MR, int NV>
struct VectorTile {
  static constexpr int kLanes = Bytes / static_cast<int>(sizeof(T));
  static constexpr int kMR = MR, kNR = NV * kLanes;
  typedef T V __attribute__((vector_size(Bytes), aligned(sizeof(T))));  // loads need no more than T's alignment
  static INGOT_INLINE void run(int64_t k, const T* a, const T* b, bool adds, T* out) {
    V sum[MR][NV] = {};
    for (int64_t p = 0; p < k; ++p, a += MR, b += kNR) {
      V row[NV];
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) row[v] = *reinterpret_cast<const V*>(b + v * kLanes);
#pragma GCC unroll 16
      for (int i = 0; i < MR; ++i)
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) sum[i][v] += a[i] * row[v];
    }
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) {
        V& to = *reinterpret_cast<V*>(out + i * kNR + v * kLanes);
        to = adds ? to + sum[i][v] : sum[i][v];
      }
  }
};

// c = alpha * sum + beta * c; c is not read when beta is zero.
template <class C, class T>
INGOT_INLINE void store(C& c, T sum, C alpha, C beta) {
  C r{};
  multiply_add(r, alpha, C(sum));
  if (beta != C{}) multiply_add(r, beta, C(c));
  c = r;
}

// C[m, n] = alpha A B + beta C from packed panels of depth k. C may be of a wider type.
template <class Tile, class T, class C>
INGOT_INLINE void multiply_block(int64_t m, int64_t n, int64_t k, const T* a, const T* b, C alpha, C beta, C* c, int64_t c_row,
                                 int64_t c_col) {
  constexpr int MR = Tile::kMR, NR = Tile::kNR;
  alignas(64) T sum[MR * NR];
  for (int64_t j0 = 0; j0 < n; j0 += NR) {
    for (int64_t i0 = 0; i0 < m; i0 += MR) {
      for (int64_t p = 0; p < k; p += kTermsOfOneSum) {
        const int64_t terms = k - p < kTermsOfOneSum ? k - p : kTermsOfOneSum;
        Tile::run(terms, a + i0 * k + p * MR, b + j0 * k + p * NR, p > 0, sum);
      }
      const int64_t rows = m - i0 < MR ? m - i0 : MR, cols = n - j0 < NR ? n - j0 : NR;
      for (int64_t i = 0; i < rows; ++i) {
        C* to = c + (i0 + i) * c_row + j0 * c_col;
        const T* from = sum + i * NR;
        if (c_col == 1 && cols == NR) {  // a length that compilers know: vectors
          for (int64_t j = 0; j < NR; ++j) store(to[j], from[j], alpha, beta);
        } else if (c_col == 1) {
          for (int64_t j = 0; j < cols; ++j) store(to[j], from[j], alpha, beta);
        } else {
          for (int64_t j = 0; j < cols; ++j) store(to[j * c_col], from[j], alpha, beta);
        }
      }
    }
  }
}

}  // namespace ingot::kernels::detail
