// See attention.hpp for the contract, attention_rows.hpp for what is done to a row of scores.
#include "kernels/attention.hpp"

#include "kernels/attention_rows.hpp"
#include "kernels/gemm.hpp"

namespace ingot::kernels {
namespace {

constexpr int64_t kBlockElements = int64_t{1} << 18;  // of scores: they stay in L2
constexpr int64_t kFewestRows = 96;                    // that pay for packing the keys once more
constexpr int64_t kEnoughTasks = 8;

constexpr int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t max(int64_t a, int64_t b) { return a < b ? b : a; }
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

// Rows of a block whose scores fit the cache.
template <class T>
int64_t rows_in_cache(const Attention<T>& a) {
  const int64_t fit = kBlockElements / max(a.keys, 1);
  return max(1, fit >= a.rows ? a.rows : min(a.rows, max(fit / kFewestRows, 1) * kFewestRows));
}
// The same for tasks: fewer where there are too few heads to share out among cores.
template <class T>
int64_t rows_of_task(const Attention<T>& a) {
  int64_t rows = rows_in_cache(a);
  while (rows > kFewestRows && a.batches * a.heads * ceil_div(a.rows, rows) < kEnoughTasks)
    rows = max(kFewestRows, round_up(rows / 2, kFewestRows));
  return rows;
}

// ---- rows by level ----

template <class T>
struct RowRules {
  void (*softmax)(T* x, const T* mask, int64_t mask_col, int64_t n, int64_t all, T* logsumexp);
  void (*through_softmax)(const T* weights, T* grad, int64_t n, int64_t all, T scale);
};
#if defined(__x86_64__)
template <class T>
__attribute__((target("avx2,fma"))) void softmax_avx2(T* x, const T* mask, int64_t mask_col, int64_t n, int64_t all, T* lse) {
  detail::softmax_row(x, mask, mask_col, n, all, lse);
}
template <class T>
__attribute__((target("avx2,fma"))) void through_softmax_avx2(const T* weights, T* grad, int64_t n, int64_t all, T scale) {
  detail::through_softmax_row(weights, grad, n, all, scale);
}
template <class T>
__attribute__((target("avx512f,avx512vl,avx2,fma"))) void softmax_avx512(T* x, const T* mask, int64_t mask_col, int64_t n,
                                                                         int64_t all, T* lse) {
  detail::softmax_row(x, mask, mask_col, n, all, lse);
}
template <class T>
__attribute__((target("avx512f,avx512vl,avx2,fma"))) void through_softmax_avx512(const T* weights, T* grad, int64_t n,
                                                                                 int64_t all, T scale) {
  detail::through_softmax_row(weights, grad, n, all, scale);
}
#endif
template <class T>
void softmax_baseline(T* x, const T* mask, int64_t mask_col, int64_t n, int64_t all, T* lse) {
  detail::softmax_row(x, mask, mask_col, n, all, lse);
}
template <class T>
void through_softmax_baseline(const T* weights, T* grad, int64_t n, int64_t all, T scale) {
  detail::through_softmax_row(weights, grad, n, all, scale);
}

template <class T>
RowRules<T> rules_of_level() {
#if defined(__x86_64__)
  const int level = detail::vector_level();
  if (level >= 2) return {softmax_avx512<T>, through_softmax_avx512<T>};
  if (level == 1) return {softmax_avx2<T>, through_softmax_avx2<T>};
#endif
  return {softmax_baseline<T>, through_softmax_baseline<T>};
}

// ---- a block of rows of one head ----

template <class T>
struct Block {
  const Attention<T>& a;
  int64_t batch, head, begin, end;  // rows

  int64_t rows() const { return end - begin; }
  // Those keys that take part with any row of it.
  int64_t keys() const { return a.causal ? min(a.keys, end) : a.keys; }
  int64_t keys_of(int64_t row) const { return a.causal ? min(a.keys, row + 1) : a.keys; }

  // scores[rows, keys] as weights; what `gemm_scratch` needs is in scratch_bytes. `logsumexp` may
  // have no data.
  void weights(const RowRules<T>& row, T* scores, const Heads<T>& logsumexp, void* gemm_scratch) const {
    const int64_t n = keys();
    gemm(Gemm<T>{rows(), n, a.embed, a.scale, a.query.matrix(batch, head) + begin * a.query.row, a.query.row, a.query.col,
                 a.key.matrix(batch, head), a.key.col, a.key.row, T(0), scores, n, 1},
         gemm_scratch);
    const T* mask = a.mask.data ? a.mask.matrix(batch, head) : nullptr;
    T* lse = logsumexp.data ? logsumexp.matrix(batch, head) : nullptr;
    for (int64_t i = begin; i < end; ++i)
      row.softmax(scores + (i - begin) * n, mask ? mask + i * a.mask.row : nullptr, a.mask.col, keys_of(i), n,
                  lse ? lse + i * logsumexp.row : nullptr);
  }
};

// sums = before * sums + xᵀ y, for x [k, m] dense and y [k, n]. One row of x is not worth packing.
template <class T>
void add_product(int64_t m, int64_t n, int64_t k, const T* x, const T* y, int64_t y_row, int64_t y_col, T before, T* sums,
                 const Heads<T>& like, void* gemm_scratch) {
  if (k != 1 || y_col != 1 || like.col != 1 || before != T(0))
    return gemm(Gemm<T>{m, n, k, T(1), x, 1, m, y, y_row, y_col, before, sums, like.row, like.col}, gemm_scratch);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) sums[i * like.row + j] = x[i] * y[j];
}

template <class T>
int64_t scores_bytes(const Attention<T>& a) {
  return round_up(rows_in_cache(a) * a.keys * static_cast<int64_t>(sizeof(T)), 64);
}
// The most that any product of a block needs: what gemm asks for depends on whether one of m and n
// is one, and grows with k.
template <class T>
int64_t product_bytes(const Attention<T>& a) {
  const int64_t longest = max(max(a.keys, rows_in_cache(a)), max(a.embed, a.value_embed));
  return max(gemm_scratch_bytes<T>(1, 1, longest), gemm_scratch_bytes<T>(2, 2, longest));
}

}  // namespace

template <class T>
int64_t attention_scratch_bytes(const Attention<T>& a) {
  return 2 * scores_bytes(a) + product_bytes(a);
}

template <class T>
int64_t attention_tasks(const Attention<T>& a) {
  return a.batches * a.heads * ceil_div(a.rows, rows_of_task(a));
}

template <class T>
void attention(const Attention<T>& a, const Heads<T>& out, const Heads<T>& logsumexp, int64_t begin, int64_t end, void* scratch) {
  const RowRules<T> row = rules_of_level<T>();
  const int64_t block_rows = rows_of_task(a), blocks = ceil_div(a.rows, block_rows);
  T* const scores = static_cast<T*>(scratch);
  void* const gemm_scratch = static_cast<char*>(scratch) + 2 * scores_bytes(a);
  for (int64_t task = begin; task < end; ++task) {
    const int64_t matrix = task / blocks, first = task % blocks * block_rows;
    const Block<T> block{a, matrix / a.heads, matrix % a.heads, first, min(a.rows, first + block_rows)};
    block.weights(row, scores, logsumexp, gemm_scratch);
    const int64_t n = block.keys();
    gemm(Gemm<T>{block.rows(), a.value_embed, n, T(1), scores, n, 1, a.value.matrix(block.batch, block.head), a.value.row,
                 a.value.col, T(0), out.matrix(block.batch, block.head) + first * out.row, out.row, out.col},
         gemm_scratch);
  }
}

template <class T>
void attention_backward(const Attention<T>& a, const Heads<const T>& grad, const Heads<T>& of_query, const Heads<T>& of_key,
                        const Heads<T>& of_value, int64_t begin, int64_t end, void* scratch) {
  const RowRules<T> row = rules_of_level<T>();
  const int64_t block_rows = rows_in_cache(a);
  T* const weights = static_cast<T*>(scratch);
  T* const of_scores = reinterpret_cast<T*>(static_cast<char*>(scratch) + scores_bytes(a));
  void* const gemm_scratch = static_cast<char*>(scratch) + 2 * scores_bytes(a);
  for (int64_t task = begin; task < end; ++task) {
    const int64_t b = task / a.heads, h = task % a.heads;
    T *const gk = of_key.matrix(b, h), *const gv = of_value.matrix(b, h);
    for (int64_t first = 0; first < max(a.rows, 1); first += block_rows) {
      const Block<T> block{a, b, h, first, min(a.rows, first + block_rows)};
      const int64_t m = block.rows(), have = block.keys();
      const T before = T(first == 0 ? 0 : 1);
      block.weights(row, weights, {}, gemm_scratch);
      const T* const go = grad.matrix(b, h) + first * grad.row;
      gemm(Gemm<T>{m, have, a.value_embed, T(1), go, grad.row, grad.col, a.value.matrix(b, h), a.value.col, a.value.row, T(0),
                   of_scores, have, 1},
           gemm_scratch);
      for (int64_t i = 0; i < m; ++i)
        row.through_softmax(weights + i * have, of_scores + i * have, block.keys_of(first + i), have, a.scale);
      add_product(have, a.value_embed, m, weights, go, grad.row, grad.col, before, gv, of_value, gemm_scratch);
      add_product(have, a.embed, m, of_scores, a.query.matrix(b, h) + first * a.query.row, a.query.row, a.query.col, before, gk,
                  of_key, gemm_scratch);
      gemm(Gemm<T>{m, a.embed, have, T(1), of_scores, have, 1, a.key.matrix(b, h), a.key.row, a.key.col, T(0),
                   of_query.matrix(b, h) + first * of_query.row, of_query.row, of_query.col},
           gemm_scratch);
      // The first block begins the sums of all keys, also of those that take no part with it.
      for (int64_t j = have; first == 0 && j < a.keys; ++j) {
        for (int64_t e = 0; e < a.embed; ++e) gk[j * of_key.row + e * of_key.col] = T(0);
        for (int64_t e = 0; e < a.value_embed; ++e) gv[j * of_value.row + e * of_value.col] = T(0);
      }
    }
  }
}

#define INGOT_ATTENTION(T)                                                                                          \
  template int64_t attention_scratch_bytes<T>(const Attention<T>&);                                                 \
  template int64_t attention_tasks<T>(const Attention<T>&);                                                         \
  template void attention<T>(const Attention<T>&, const Heads<T>&, const Heads<T>&, int64_t, int64_t, void*);       \
  template void attention_backward<T>(const Attention<T>&, const Heads<const T>&, const Heads<T>&, const Heads<T>&, \
                                      const Heads<T>&, int64_t, int64_t, void*);
INGOT_ATTENTION(float)
INGOT_ATTENTION(double)
#undef INGOT_ATTENTION

}  // namespace ingot::kernels
