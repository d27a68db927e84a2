// Packing, blocking and choice of the register tile. Loops outside in: group of column tiles, block
// of k, row tile; the packed B of a group is reused by every row tile of the range. Where k is long
// the row tiles are outside the blocks of k, so that one tile of wide totals is enough. See
// gemm.hpp for the contract.
#include "kernels/gemm.hpp"

#include <type_traits>

#include "base/long_sum.hpp"
#include "kernels/gemm_tile.hpp"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ingot::kernels {
namespace {

using detail::ScalarTile;
using detail::VectorTile;

constexpr int64_t kBlockK = 256;     // one panel pair stays in L1, the packed A of a row tile in L2
constexpr int64_t kMaxTileM = 96;    // multiples of every kMR and kNR below
constexpr int64_t kMaxTileN = 384;
constexpr int64_t kGroupN = 768;     // columns of B packed at a time
constexpr int64_t kPackedElements = kBlockK * (kGroupN + kMaxTileM);
constexpr int64_t kTileElements = kMaxTileM * kGroupN;

constexpr int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

// What the sums of blocks are added up in, so that the length of a product costs no digits.
template <class T>
using Total = std::conditional_t<std::is_same_v<T, float>, double,
                                 std::conditional_t<std::is_same_v<T, std::complex<float>>, std::complex<double>, T>>;

template <class T>
constexpr bool is_long(int64_t k) {
  return !std::is_same_v<T, Total<T>> && k > kTermsInFloat;
}

struct Tiling {
  int64_t m, n, rows, cols;  // tile size; tiles down and across
};

// Smaller tiles when there are too few to share out among cores.
Tiling tiling(int64_t m, int64_t n) {
  Tiling t{kMaxTileM, kMaxTileN, 0, 0};
  auto count = [&] { return ceil_div(m, t.m) * ceil_div(n, t.n); };
  while (count() < 64 && t.n > 96) t.n /= 2;
  if (count() < 64) t.m /= 2;
  t.rows = ceil_div(m, t.m);
  t.cols = ceil_div(n, t.n);
  return t;
}

// ---- register tiles by type and level ----

template <class T, class C>
using MultiplyBlock = void (*)(int64_t m, int64_t n, int64_t k, const T* a, const T* b, C alpha, C beta, C* c, int64_t c_row,
                               int64_t c_col);
template <class T>
struct Level {
  int mr, nr;
  MultiplyBlock<T, T> multiply;
  MultiplyBlock<T, Total<T>> multiply_into_total;
};

template <class Tile, class T, class C>
void multiply_baseline(int64_t m, int64_t n, int64_t k, const T* a, const T* b, C alpha, C beta, C* c, int64_t c_row,
                       int64_t c_col) {
  detail::multiply_block<Tile>(m, n, k, a, b, alpha, beta, c, c_row, c_col);
}
#if defined(__x86_64__)
template <class Tile, class T, class C>
__attribute__((target("avx2,fma"))) void multiply_avx2(int64_t m, int64_t n, int64_t k, const T* a, const T* b, C alpha, C beta,
                                                       C* c, int64_t c_row, int64_t c_col) {
  detail::multiply_block<Tile>(m, n, k, a, b, alpha, beta, c, c_row, c_col);
}
template <class Tile, class T, class C>
__attribute__((target("avx512f,avx512vl,avx2,fma"))) void multiply_avx512(int64_t m, int64_t n, int64_t k, const T* a, const T* b,
                                                                          C alpha, C beta, C* c, int64_t c_row, int64_t c_col) {
  detail::multiply_block<Tile>(m, n, k, a, b, alpha, beta, c, c_row, c_col);
}
#endif

#if defined(__aarch64__)
constexpr int kBaseRows = 8, kBaseVectors = 3;  // 24 of 32 registers
#else
constexpr int kBaseRows = 4, kBaseVectors = 2;  // 8 of 16 registers
#endif

template <class T>
Level<T> level_of(int level) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
#if defined(__x86_64__)
    if (level >= 2) {
      using Tile = VectorTile<T, 64, 12, 2>;
      return {Tile::kMR, Tile::kNR, multiply_avx512<Tile, T, T>, multiply_avx512<Tile, T, Total<T>>};
    }
    if (level == 1) {
      using Tile = VectorTile<T, 32, 6, 2>;
      return {Tile::kMR, Tile::kNR, multiply_avx2<Tile, T, T>, multiply_avx2<Tile, T, Total<T>>};
    }
#endif
    using Tile = VectorTile<T, 16, kBaseRows, kBaseVectors>;
    return {Tile::kMR, Tile::kNR, multiply_baseline<Tile, T, T>, multiply_baseline<Tile, T, Total<T>>};
  } else {
    using Tile = ScalarTile<T, 4, 4>;
#if defined(__x86_64__)
    if (level >= 1) return {Tile::kMR, Tile::kNR, multiply_avx2<Tile, T, T>, multiply_avx2<Tile, T, Total<T>>};
#endif
    (void)level;
    return {Tile::kMR, Tile::kNR, multiply_baseline<Tile, T, T>, multiply_baseline<Tile, T, Total<T>>};
  }
}

// ---- packing ----

// Panels of `width` along the outer index (count of them), k deep; from[o * outer + p * depth].
template <class T>
void pack(const T* from, int64_t count, int64_t outer, int64_t k, int64_t depth, int width, T* to) {
  for (int64_t o = 0; o < count; o += width, to += width * k) {
    const int64_t full = min(width, count - o);
    const T* f = from + o * outer;
    if (full < width) {
      for (int64_t p = 0; p < k; ++p)
        for (int64_t i = 0; i < width; ++i) to[p * width + i] = i < full ? f[i * outer + p * depth] : T{};
    } else if (outer == 1) {
      for (int64_t p = 0; p < k; ++p)
        for (int64_t i = 0; i < width; ++i) to[p * width + i] = f[p * depth + i];
    } else {
      constexpr int64_t kStep = 16;  // read whole lines along k before moving to the next row
      for (int64_t p0 = 0; p0 < k; p0 += kStep) {
        const int64_t p1 = min(k, p0 + kStep);
        for (int64_t i = 0; i < width; ++i)
          for (int64_t p = p0; p < p1; ++p) to[p * width + i] = f[i * outer + p * depth];
      }
    }
  }
}

// Tiles of rows [row0, row1) by columns [col0, col1), counted in tiles. Requires the columns to fit
// kGroupN.
template <class T>
void multiply_tiles(const Gemm<T>& g, const Level<T>& level, const Tiling& t, int64_t row0, int64_t row1, int64_t col0,
                    int64_t col1, T* scratch) {
  const int64_t j0 = col0 * t.n, n = min(g.n, col1 * t.n) - j0;
  T* const packed_b = scratch;
  T* const packed_a = scratch + kBlockK * kGroupN;
  for (int64_t p0 = 0; p0 < g.k; p0 += kBlockK) {
    const int64_t k = min(kBlockK, g.k - p0);
    pack(g.b + p0 * g.b_row + j0 * g.b_col, n, g.b_col, k, g.b_row, level.nr, packed_b);
    for (int64_t row = row0; row < row1; ++row) {
      const int64_t i0 = row * t.m, m = min(t.m, g.m - i0);
      pack(g.a + i0 * g.a_row + p0 * g.a_col, m, g.a_row, k, g.a_col, level.mr, packed_a);
      level.multiply(m, n, k, packed_a, packed_b, g.alpha, p0 == 0 ? g.beta : T(1), g.c + i0 * g.c_row + j0 * g.c_col, g.c_row,
                     g.c_col);
    }
  }
}

// The same for a k that is long: what the blocks of k give is added to the totals of a row tile.
template <class T>
void multiply_long_tiles(const Gemm<T>& g, const Level<T>& level, const Tiling& t, int64_t row0, int64_t row1, int64_t col0,
                         int64_t col1, T* scratch) {
  const int64_t j0 = col0 * t.n, n = min(g.n, col1 * t.n) - j0;
  T* const packed_b = scratch;
  T* const packed_a = scratch + kBlockK * kGroupN;
  Total<T>* const total = reinterpret_cast<Total<T>*>(scratch + kPackedElements);
  for (int64_t row = row0; row < row1; ++row) {
    const int64_t i0 = row * t.m, m = min(t.m, g.m - i0);
    for (int64_t p0 = 0; p0 < g.k; p0 += kBlockK) {
      const int64_t k = min(kBlockK, g.k - p0);
      pack(g.b + p0 * g.b_row + j0 * g.b_col, n, g.b_col, k, g.b_row, level.nr, packed_b);
      pack(g.a + i0 * g.a_row + p0 * g.a_col, m, g.a_row, k, g.a_col, level.mr, packed_a);
      level.multiply_into_total(m, n, k, packed_a, packed_b, 1, p0 == 0 ? 0 : 1, total, n, 1);
    }
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        detail::store(g.c[(i0 + i) * g.c_row + (j0 + j) * g.c_col], static_cast<T>(total[i * n + j]), g.alpha, g.beta);
  }
}

// ---- a matrix times a vector: y[m] = alpha A x + beta y for rows [begin, end), without packing
// ----

constexpr int kLanes = 16;

template <class T>
T dot_block(const T* a, const T* x, int64_t k) {
  T lanes[kLanes] = {};
  int64_t p = 0;
  for (; p + kLanes <= k; p += kLanes)
    for (int l = 0; l < kLanes; ++l) detail::multiply_add(lanes[l], a[p + l], x[p + l]);
  for (int l = 0; p < k; ++p, ++l) detail::multiply_add(lanes[l], a[p], x[p]);
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) detail::multiply_add(lanes[l], T(1), lanes[l + half]);
  return lanes[0];
}
template <class T>
T dot(const T* a, const T* x, int64_t k) {
  constexpr int64_t kBlock = kLanes * kTermsOfOneSum;
  if (k <= kBlock) return dot_block(a, x, k);
  Total<T> total{};
  for (int64_t p = 0; p < k; p += kBlock)
    detail::multiply_add(total, Total<T>(1), Total<T>(dot_block(a + p, x + p, min(kBlock, k - p))));
  return static_cast<T>(total);
}

template <class T>
void multiply_vector(const Gemm<T>& g, int64_t begin, int64_t end, T* scratch) {
  if (g.a_col == 1 && g.k > 1) {
    const T* x = g.b;
    if (g.b_row != 1) {
      for (int64_t p = 0; p < g.k; ++p) scratch[p] = g.b[p * g.b_row];
      x = scratch;
    }
    for (int64_t i = begin; i < end; ++i) detail::store(g.c[i * g.c_row], dot(g.a + i * g.a_row, x, g.k), g.alpha, g.beta);
    return;
  }
  constexpr int64_t kRows = 128;
  for (int64_t i0 = begin; i0 < end; i0 += kRows) {
    Total<T> total[kRows] = {};
    const int64_t rows = min(kRows, end - i0);
    for (int64_t p0 = 0; p0 < g.k; p0 += kTermsOfOneSum) {
      T sum[kRows] = {};
      for (int64_t p = p0; p < min(g.k, p0 + kTermsOfOneSum); ++p) {
        const T x = g.b[p * g.b_row];
        const T* a = g.a + i0 * g.a_row + p * g.a_col;
        if (g.a_row == 1) {
          for (int64_t i = 0; i < rows; ++i) detail::multiply_add(sum[i], a[i], x);
        } else {
          for (int64_t i = 0; i < rows; ++i) detail::multiply_add(sum[i], a[i * g.a_row], x);
        }
      }
      for (int64_t i = 0; i < rows; ++i) detail::multiply_add(total[i], Total<T>(1), Total<T>(sum[i]));
    }
    for (int64_t i = 0; i < rows; ++i) detail::store(g.c[(i0 + i) * g.c_row], static_cast<T>(total[i]), g.alpha, g.beta);
  }
}

}  // namespace

int64_t gemm_tasks(int64_t m, int64_t n, int64_t) {
  const Tiling t = tiling(m, n);
  return t.rows * t.cols;
}

template <class T>
int64_t gemm_scratch_bytes(int64_t m, int64_t n, int64_t k) {
  if (m == 1 || n == 1) return round_up(k * static_cast<int64_t>(sizeof(T)), 64);
  const int64_t totals = is_long<T>(k) ? kTileElements * static_cast<int64_t>(sizeof(Total<T>)) : 0;
  return round_up(kPackedElements * static_cast<int64_t>(sizeof(T)) + totals, 64);
}

namespace detail {

int vector_level() {
#if defined(__x86_64__)
  static int cached = -1;  // every thread finds the same value
  int level = __atomic_load_n(&cached, __ATOMIC_RELAXED);
  if (level >= 0) return level;
  level = 0;
  unsigned a, b, c, d;
  if (__get_cpuid(1, &a, &b, &c, &d) && (c & bit_FMA) && (c & bit_OSXSAVE)) {
    unsigned enabled, high;
    __asm__ volatile("xgetbv" : "=a"(enabled), "=d"(high) : "c"(0));
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2) && (enabled & 6) == 6)
      level = (b & bit_AVX512F) && (b & bit_AVX512VL) && (enabled & 0xe6) == 0xe6 ? 2 : 1;
  }
  __atomic_store_n(&cached, level, __ATOMIC_RELAXED);
  return level;
#else
  return 0;
#endif
}

template <class T>
void gemm_at(int level_number, const Gemm<T>& g, int64_t begin, int64_t end, void* scratch) {
  if (g.m <= 0 || g.n <= 0 || begin >= end) return;
  const Tiling t = tiling(g.m, g.n);
  T* const memory = static_cast<T*>(scratch);
  if (g.k <= 0) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t i0 = task % t.rows * t.m, j0 = task / t.rows * t.n;
      for (int64_t i = i0; i < min(g.m, i0 + t.m); ++i)
        for (int64_t j = j0; j < min(g.n, j0 + t.n); ++j) store(g.c[i * g.c_row + j * g.c_col], T{}, g.alpha, g.beta);
    }
    return;
  }
  if (g.n == 1) return multiply_vector(g, begin * t.m, min(g.m, end * t.m), memory);
  if (g.m == 1) {  // the transposed product
    const Gemm<T> u{g.n, 1, g.k, g.alpha, g.b, g.b_col, g.b_row, g.a, g.a_col, g.a_row, g.beta, g.c, g.c_col, g.c_row};
    return multiply_vector(u, begin * t.n, min(g.n, end * t.n), memory);
  }
  const Level<T> level = level_of<T>(level_number);
  auto* multiply = multiply_tiles<T>;
  if constexpr (!std::is_same_v<T, Total<T>>) {
    if (is_long<T>(g.k)) multiply = multiply_long_tiles<T>;
  }
  for (int64_t task = begin; task < end;) {
    const int64_t col = task / t.rows, row = task % t.rows;
    int64_t cols = 1, row_end = min(t.rows, row + end - task);
    if (row == 0) cols = min(kGroupN / t.n, (end - task) / t.rows);  // whole columns of tiles, packed together
    if (cols < 1) cols = 1;
    multiply(g, level, t, row, row_end, col, col + cols, memory);
    task += (row_end - row) * cols;
  }
}

}  // namespace detail

template <class T>
void gemm(const Gemm<T>& g, int64_t begin, int64_t end, void* scratch) {
  detail::gemm_at(detail::vector_level(), g, begin, end, scratch);
}

#define INGOT_GEMM(T, name)                                                                          \
  template int64_t gemm_scratch_bytes<T>(int64_t, int64_t, int64_t);                                 \
  template void gemm<T>(const Gemm<T>&, int64_t, int64_t, void*);                                    \
  template void detail::gemm_at<T>(int, const Gemm<T>&, int64_t, int64_t, void*);                    \
  extern "C" int64_t ingot_k_gemm_scratch_bytes_##name(int64_t m, int64_t n, int64_t k) {            \
    return gemm_scratch_bytes<T>(m, n, k);                                                           \
  }                                                                                                  \
  extern "C" void ingot_k_gemm_##name(const Gemm<T>* g, int64_t begin, int64_t end, void* scratch) { \
    gemm(*g, begin, end, scratch);                                                                   \
  }
INGOT_GEMM(float, f32)
INGOT_GEMM(double, f64)
INGOT_GEMM(int64_t, i64)
INGOT_GEMM(std::complex<float>, c64)
INGOT_GEMM(std::complex<double>, c128)
#undef INGOT_GEMM

}  // namespace ingot::kernels

extern "C" int64_t ingot_k_gemm_tasks(int64_t m, int64_t n, int64_t k) { return ingot::kernels::gemm_tasks(m, n, k); }
