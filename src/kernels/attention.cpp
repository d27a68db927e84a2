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
  void (*through_softmax)(const T* weights, T* grad, double* wide, int64_t n, int64_t all, T scale);
};
#if defined(__x86_64__)
template <class T>
__attribute__((target("avx2,fma"))) void softmax_avx2(T* x, const T* mask, int64_t mask_col, int64_t n, int64_t all, T* lse) {
  detail::softmax_row(x, mask, mask_col, n, all, lse);
}
template <class T>
__attribute__((target("avx2,fma"))) void through_softmax_avx2(const T* weights, T* grad, double* wide, int64_t n, int64_t all,
                                                              T scale) {
  detail::through_softmax_row(weights, grad, wide, n, all, scale);
}
template <class T>
__attribute__((target("avx512f,avx512vl,avx2,fma"))) void softmax_avx512(T* x, const T* mask, int64_t mask_col, int64_t n,
                                                                         int64_t all, T* lse) {
  detail::softmax_row(x, mask, mask_col, n, all, lse);
}
template <class T>
__attribute__((target("avx512f,avx512vl,avx2,fma"))) void through_softmax_avx512(const T* weights, T* grad, double* wide,
                                                                                 int64_t n, int64_t all, T scale) {
  detail::through_softmax_row(weights, grad, wide, n, all, scale);
}
#endif
template <class T>
void softmax_baseline(T* x, const T* mask, int64_t mask_col, int64_t n, int64_t all, T* lse) {
  detail::softmax_row(x, mask, mask_col, n, all, lse);
}
template <class T>
void through_softmax_baseline(const T* weights, T* grad, double* wide, int64_t n, int64_t all, T scale) {
  detail::through_softmax_row(weights, grad, wide, n, all, scale);
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
template <class P, class T>
int64_t product_bytes(const Attention<T>& a) {
  const int64_t longest = max(max(a.keys, rows_in_cache(a)), max(a.embed, a.value_embed));
  return max(gemm_scratch_bytes<P>(1, 1, longest), gemm_scratch_bytes<P>(2, 2, longest));
}

// The gradient of the keys of one head, in double: where it cancels (a bias of all keys has none),
// sums in float would leave noise that an optimizer which divides by the gradient's size makes
// visible.
template <class T>
class KeyGradient {
 public:
  static int64_t scratch_bytes(const Attention<T>& a) {
    return bytes_of(rows_in_cache(a) * a.embed) + bytes_of(a.keys * a.embed);
  }
  KeyGradient(const Attention<T>& a, const Heads<T>& result, void* scratch, void* gemm_scratch)
      : a_(a), result_(result), query_(static_cast<double*>(scratch)),
        sums_(query_ + bytes_of(rows_in_cache(a) * a.embed) / static_cast<int64_t>(sizeof(double))), gemm_scratch_(gemm_scratch) {
  }

  // Those of a block of rows, from the gradients of its scores.
  void add(const Block<T>& block, const double* of_scores) {
    const T* const q = a_.query.matrix(block.batch, block.head) + block.begin * a_.query.row;
    const int64_t m = block.rows(), n = block.keys();
    for (int64_t i = 0; i < m; ++i)
      for (int64_t e = 0; e < a_.embed; ++e)
        query_[i * a_.embed + e] = static_cast<double>(q[i * a_.query.row + e * a_.query.col]);
    if (a_.rows == 1) {  // is not worth packing
      for (int64_t j = 0; j < n; ++j)
        for (int64_t e = 0; e < a_.embed; ++e) sums_[j * a_.embed + e] = of_scores[j] * query_[e];
    } else {
      gemm(Gemm<double>{n, a_.embed, m, 1.0, of_scores, 1, n, query_, a_.embed, 1, block.begin == 0 ? 0.0 : 1.0, sums_, a_.embed,
                        1},
           gemm_scratch_);
    }
    // The first block begins the sums of all keys, also of those that take no part with it.
    for (int64_t k = n * a_.embed; block.begin == 0 && k < a_.keys * a_.embed; ++k) sums_[k] = 0;
  }
  void finish(int64_t batch, int64_t head) const {
    T* const to = result_.matrix(batch, head);
    for (int64_t j = 0; j < a_.keys; ++j)
      for (int64_t e = 0; e < a_.embed; ++e) to[j * result_.row + e * result_.col] = static_cast<T>(sums_[j * a_.embed + e]);
  }

 private:
  static int64_t bytes_of(int64_t n) { return round_up(n * static_cast<int64_t>(sizeof(double)), 64); }
  const Attention<T>& a_;
  const Heads<T>& result_;
  double *query_, *sums_;
  void* gemm_scratch_;
};

}  // namespace

template <class T>
int64_t attention_scratch_bytes(const Attention<T>& a) {
  return scores_bytes(a) + product_bytes<T>(a);
}
template <class T>
int64_t attention_backward_scratch_bytes(const Attention<T>& a) {
  constexpr int64_t kWide = sizeof(double) / sizeof(T);
  return (2 + (kWide == 1 ? 0 : kWide)) * scores_bytes(a) + KeyGradient<T>::scratch_bytes(a) +
         max(product_bytes<T>(a), product_bytes<double>(a));
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
  void* const gemm_scratch = static_cast<char*>(scratch) + scores_bytes(a);
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
  char* at = static_cast<char*>(scratch);
  const auto take = [&](int64_t bytes) {
    char* const taken = at;
    at += bytes;
    return taken;
  };
  T* const weights = reinterpret_cast<T*>(take(scores_bytes(a)));
  T* const of_scores = reinterpret_cast<T*>(take(scores_bytes(a)));
  double* wide;  // the same before it is rounded
  if constexpr (sizeof(T) == sizeof(double)) wide = of_scores;
  else wide = reinterpret_cast<double*>(take(sizeof(double) / sizeof(T) * scores_bytes(a)));
  void* const key_scratch = take(KeyGradient<T>::scratch_bytes(a));
  void* const gemm_scratch = at;
  KeyGradient<T> keys(a, of_key, key_scratch, gemm_scratch);
  for (int64_t task = begin; task < end; ++task) {
    const int64_t b = task / a.heads, h = task % a.heads;
    T* const gv = of_value.matrix(b, h);
    for (int64_t first = 0; first < max(a.rows, 1); first += block_rows) {
      const Block<T> block{a, b, h, first, min(a.rows, first + block_rows)};
      const int64_t m = block.rows(), n = block.keys();
      block.weights(row, weights, {}, gemm_scratch);
      const T* const go = grad.matrix(b, h) + first * grad.row;
      gemm(Gemm<T>{m, n, a.value_embed, T(1), go, grad.row, grad.col, a.value.matrix(b, h), a.value.col, a.value.row, T(0),
                   of_scores, n, 1},
           gemm_scratch);
      for (int64_t i = 0; i < m; ++i)
        row.through_softmax(weights + i * n, of_scores + i * n, wide + i * n, block.keys_of(first + i), n, a.scale);
      keys.add(block, wide);
      add_product(n, a.value_embed, m, weights, go, grad.row, grad.col, T(first == 0 ? 0 : 1), gv, of_value, gemm_scratch);
      for (int64_t j = n; first == 0 && j < a.keys; ++j)
        for (int64_t e = 0; e < a.value_embed; ++e) gv[j * of_value.row + e * of_value.col] = T(0);
      gemm(Gemm<T>{m, a.embed, n, T(1), of_scores, n, 1, a.key.matrix(b, h), a.key.row, a.key.col, T(0),
                   of_query.matrix(b, h) + first * of_query.row, of_query.row, of_query.col},
           gemm_scratch);
    }
    keys.finish(b, h);
  }
}

#define INGOT_ATTENTION(T)                                                                                          \
  template int64_t attention_scratch_bytes<T>(const Attention<T>&);                                                 \
  template int64_t attention_backward_scratch_bytes<T>(const Attention<T>&);                                        \
  template int64_t attention_tasks<T>(const Attention<T>&);                                                         \
  template void attention<T>(const Attention<T>&, const Heads<T>&, const Heads<T>&, int64_t, int64_t, void*);       \
  template void attention_backward<T>(const Attention<T>&, const Heads<const T>&, const Heads<T>&, const Heads<T>&, \
                                      const Heads<T>&, int64_t, int64_t, void*);
INGOT_ATTENTION(float)
INGOT_ATTENTION(double)
#undef INGOT_ATTENTION

}  // namespace ingot::kernels
