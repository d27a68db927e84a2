// A = P L D L^T P^T (or L^H) of symmetric matrices that need not be definite: Bunch and Kaufman's
// diagonal pivoting, one or two columns a step, in LAPACK's packing. D's 1x1 and 2x2 blocks stand
// on the diagonal, L's columns below them; a pivot p > 0 exchanged a row with row p - 1, a pair of
// equal p < 0 marks a 2x2 block whose second row was exchanged with -p - 1.
#include <cmath>

#include "ops/batch/rules.hpp"
#include "ops/family.hpp"
#include "ops/linalg/linalg.hpp"

namespace ingot {
namespace {

// What `symmetric` and `hermitian` differ in.
template <class S>
struct Mirror {
  bool hermitian;
  S operator()(S x) const { return hermitian ? conj_of(x) : x; }
  S diagonal(S x) const { return hermitian ? S(std::real(x)) : x; }
};

// Row and column `a` exchanged with `b` > a in the lower triangle, right of column `a`.
template <class S>
void exchange(int64_t n, S* m, int64_t a, int64_t b, const Mirror<S>& mirror) {
  const auto at = [&](int64_t i, int64_t j) -> S& { return m[i + j * n]; };
  for (int64_t i = b + 1; i < n; i++) std::swap(at(i, a), at(i, b));
  for (int64_t j = a + 1; j < b; j++) {
    const S t = mirror(at(j, a));
    at(j, a) = mirror(at(b, j));
    at(b, j) = t;
  }
  at(b, a) = mirror(at(b, a));
  const S t = mirror.diagonal(at(a, a));
  at(a, a) = mirror.diagonal(at(b, b));
  at(b, b) = t;
}

// The lower triangle of m (n x n) in place; the upper one is neither read nor written. S: the
// precision of the tensor, as the small pivots that are left of large numbers have no digits beyond
// it.
template <class S>
int32_t ldl_factor(int64_t n, S* m, int32_t* pivots, bool hermitian) {
  const Mirror<S> mirror{hermitian};
  const double alpha = (1 + std::sqrt(17.0)) / 8;  // bounds the growth of one 2x2 step by that of two 1x1 steps
  const auto at = [&](int64_t i, int64_t j) -> S& { return m[i + j * n]; };
  const auto diagonal_size = [&](int64_t i) { return pivot_size(mirror.diagonal(at(i, i))); };
  int32_t info = 0;
  for (int64_t k = 0; k < n;) {
    int64_t width = 1, with = k, largest = k + 1;
    for (int64_t i = k + 2; i < n; i++)
      if (pivot_size(at(i, k)) > pivot_size(at(largest, k))) largest = i;
    const double own = diagonal_size(k), column = k + 1 < n ? pivot_size(at(largest, k)) : 0;
    if (std::max(own, column) == 0 || std::isnan(own)) {
      if (info == 0) info = static_cast<int32_t>(k + 1);
      at(k, k) = mirror.diagonal(at(k, k));
    } else {
      if (own < alpha * column) {
        double row = 0;  // the largest of row `largest` off its diagonal
        for (int64_t j = k; j < largest; j++) row = std::max(row, pivot_size(at(largest, j)));
        for (int64_t i = largest + 1; i < n; i++) row = std::max(row, pivot_size(at(i, largest)));
        if (own < alpha * column * (column / row)) {
          with = largest;
          if (diagonal_size(largest) < alpha * row) width = 2;
        }
      }
      const int64_t last = k + width - 1;
      if (with != last) {
        exchange(n, m, last, with, mirror);
        if (width == 2) std::swap(at(k + 1, k), at(with, k));
      }
      at(k, k) = mirror.diagonal(at(k, k));
      if (width == 1) {
        const S inverse = S(1) / at(k, k);
        for (int64_t j = k + 1; j < n; j++) {
          const S t = -inverse * mirror(at(j, k));
          for (int64_t i = j; i < n; i++) at(i, j) = multiply_add(at(i, k), t, at(i, j));
          at(j, j) = mirror.diagonal(at(j, j));
        }
        for (int64_t i = k + 1; i < n; i++) at(i, k) *= inverse;
      } else {
        at(k + 1, k + 1) = mirror.diagonal(at(k + 1, k + 1));
        // Row j of L is row j of A times the inverse of the 2x2 block.
        const S off = at(k + 1, k), a = at(k, k), b = at(k + 1, k + 1), determinant = a * b - off * mirror(off);
        for (int64_t j = k + 2; j < n; j++) {
          const S x = at(j, k), y = at(j, k + 1);
          const S w = (b * x - off * y) / determinant, z = (a * y - mirror(off) * x) / determinant;
          for (int64_t i = j; i < n; i++) at(i, j) -= at(i, k) * mirror(w) + at(i, k + 1) * mirror(z);
          at(j, k) = w;
          at(j, k + 1) = z;
          at(j, j) = mirror.diagonal(at(j, j));
        }
      }
    }
    for (int64_t i = k; i < k + width; i++) pivots[i] = static_cast<int32_t>(width == 1 ? with + 1 : -(with + 1));
    k += width;
  }
  return info;
}

// x (n x cols) = A^-1 x with the factors of ldl_factor.
template <class S>
void ldl_solve(int64_t n, int64_t cols, const S* m, const int32_t* pivots, bool hermitian, S* x) {
  const Mirror<S> mirror{hermitian};
  const auto at = [&](int64_t i, int64_t j) { return m[i + j * n]; };
  const auto exchange_rows = [&](int64_t a, int64_t b) {
    if (a != b)
      for (int64_t c = 0; c < cols; c++) std::swap(x[a + c * n], x[b + c * n]);
  };
  for (int64_t k = 0; k < n;) {  // D^-1 L^-1 P^T
    const int64_t width = pivots[k] > 0 ? 1 : 2, last = k + width - 1;
    exchange_rows(last, std::abs(pivots[k]) - 1);
    for (int64_t c = 0; c < cols; c++) {
      S* v = x + c * n;
      for (int64_t j = k; j <= last; j++)
        for (int64_t i = last + 1; i < n; i++) v[i] -= at(i, j) * v[j];
      if (width == 1) {
        v[k] /= mirror.diagonal(at(k, k));
      } else {
        const S off = at(k + 1, k), a = mirror.diagonal(at(k, k)), b = mirror.diagonal(at(k + 1, k + 1));
        const S determinant = a * b - off * mirror(off), first = v[k];
        v[k] = (b * first - mirror(off) * v[k + 1]) / determinant;
        v[k + 1] = (a * v[k + 1] - off * first) / determinant;
      }
    }
    k += width;
  }
  for (int64_t end = n; end > 0;) {  // P L^-T
    const int64_t width = pivots[end - 1] > 0 ? 1 : 2, k = end - width;
    for (int64_t c = 0; c < cols; c++) {
      S* v = x + c * n;
      for (int64_t j = k; j < end; j++)
        for (int64_t i = end; i < n; i++) v[j] -= mirror(at(i, j)) * v[i];
    }
    exchange_rows(end - 1, std::abs(pivots[end - 1]) - 1);
    end = k;
  }
}

void ldl_factor_ex_meta(const Call& c, Outputs& o) {
  const Tensor& a = c.tensor(0);
  check_square(a, "torch.linalg.ldl_factor_ex");
  o.add(column_major(a.sizes(), a.dtype()));
  o.add(joined(batch_of(a), {a.size(-1)}), DType::i32);
  o.add(batch_of(a), DType::i32);
}
void ldl_factor_ex_kernel(const Call& c, std::span<const Tensor> r) {
  on_scalar(r[0].dtype(), [&]<class S>(S) {
    const Matrices<S> m(c.tensor(0));
    const int64_t n = m.rows;
    for_batch(m.batch, n * n * n, [&](int64_t i) {
      int32_t* pivots = r[1].data<int32_t>() + i * n;
      int32_t& info = r[2].data<int32_t>()[i];
      if constexpr (std::is_same_v<S, double>) {
        if (r[0].dtype() == DType::f32) {
          std::vector<float> single(m[i], m[i] + n * n);
          info = ldl_factor(n, single.data(), pivots, false);
          std::copy(single.begin(), single.end(), m[i]);
        } else {
          info = ldl_factor(n, m[i], pivots, false);
        }
      } else {
        info = ldl_factor(n, m[i], pivots, c[1].to_bool());
      }
      for (int64_t j = 1; j < n; j++) std::fill(m[i] + j * n, m[i] + j * n + j, S(0));
    });
    m.store(r[0]);
  });
  if (c[2].to_bool()) aten_value<"_linalg_check_errors">(r[2], "torch.linalg.ldl_factor_ex", c.tensor(0).dim() == 2);
}
Value ldl_factor_body(const Call& c) {
  const TensorList r = atens<"linalg_ldl_factor_ex">(c[0], c[1]);
  aten_value<"_linalg_check_errors">(r[2], "torch.linalg.ldl_factor", c.tensor(0).dim() == 2);
  return TensorList{r[0], r[1]};
}

void ldl_solve_meta(const Call& c, Outputs& o) {  // LD, pivots, B, hermitian
  const Tensor &ld = c.tensor(0), &pivots = c.tensor(1), &b = c.tensor(2);
  const std::string_view op = "torch.linalg.ldl_solve";
  check_square(ld, op, "LD");
  check_matrix(b, op, "B");
  check_same_dtype(ld, b, op);
  INGOT_REQUIRE(ld.size(-1) == b.size(-2), op, ": Incompatible shapes of LD and B for the equation AX = B (", ld.sizes(), " and ",
                b.sizes(), ")");
  const Shape sizes = joined(batch_of(ld), {ld.size(-1)});
  INGOT_REQUIRE(pivots.dtype() == DType::i32 && pivots.sizes() == sizes, op, ": expected int32 pivots of size ", sizes,
                ", found ", pivots.dtype(), " of size ", pivots.sizes());
  o.add(column_major(joined(broadcast_shapes(batch_of(ld), batch_of(b), op), {b.size(-2), b.size(-1)}), b.dtype()));
}
void ldl_solve_kernel(const Call& c, std::span<const Tensor> r) {
  on_scalar(r[0].dtype(), [&]<class S>(S) {
    const Shape batch = batch_of(r[0]);
    const Matrices<S> ld(c.tensor(0), batch), x(c.tensor(2), batch);
    const int64_t n = ld.rows;
    const Tensor pivots = make_tensor(Geometry::contiguous(joined(batch, {n}), DType::i32));
    copy_elements(pivots, make_alias(c.tensor(1), expand_geometry(c.tensor(1)->geom, pivots.sizes())));
    for (int64_t i = 0; i < ld.batch; i++) {
      const int32_t* p = pivots.data<int32_t>() + i * n;
      for (int64_t k = 0; k < n; k += p[k] > 0 ? 1 : 2)
        INGOT_REQUIRE(p[k] != 0 && std::abs(p[k]) <= n && (p[k] > 0 || (k + 1 < n && p[k + 1] == p[k])),
                      "torch.linalg.ldl_solve: pivots must be the ones ldl_factor made for this matrix, found ", p[k], " at ", k);
    }
    for_batch(ld.batch, n * n * x.cols,
              [&](int64_t i) { ldl_solve(n, x.cols, ld[i], pivots.data<int32_t>() + i * n, c[3].to_bool(), x[i]); });
    x.store(r[0]);
  });
}

constexpr OpDef kLinalgLdlOps[] = {
    {.schema =
         "aten::linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info)",
     .meta = ldl_factor_ex_meta,
     .kernel = ldl_factor_ex_kernel,
     .batch = batch_leading},
    {.schema = "aten::linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)",
     .form = Form::composite,
     .body = ldl_factor_body},
    {.schema = "aten::linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor",
     .meta = ldl_solve_meta,
     .kernel = ldl_solve_kernel,
     .batch = batch_cores<2, 1, 2>},
};

}  // namespace

INGOT_FAMILY(linalg_ldl, kLinalgLdlOps)

}  // namespace ingot
