// What the files of the linear algebra families share: checks, layouts, and the way into Matrices.
#pragma once
#include "base/error.hpp"
#include "base/parallel.hpp"
#include "ingot/ingot.hpp"
#include "ingot/op/vjp.hpp"
#include "op/call.hpp"
#include "ops/common/gradient_terms.hpp"
#include "ops/linalg/matrices.hpp"
#include "tensor/geometry.hpp"

namespace ingot {

inline Shape batch_of(const Tensor& t) { return t.sizes().sub(0, t.sizes().size() - 2); }
inline Shape joined(Shape s, std::initializer_list<Int> tail) {
  for (Int x : tail) s.push_back(x);
  return s;
}

inline void check_matrix(const Tensor& t, std::string_view op, std::string_view name = "A") {
  INGOT_REQUIRE(t.dim() >= 2, op, ": The input tensor ", name, " must have at least 2 dimensions.");
  const DType d = t.dtype();
  INGOT_REQUIRE(is_floating(d) || is_complex(d), op, ": Expected a floating point or complex tensor as input. Got ",
                scalar_type_name(d));
  INGOT_REQUIRE(!is_reduced_floating(d), op, ": Low precision dtypes not supported. Got ", scalar_type_name(d));
}
inline void check_square(const Tensor& t, std::string_view op, std::string_view name = "A") {
  check_matrix(t, op, name);
  INGOT_REQUIRE(t.size(-1) == t.size(-2), op, ": ", name, " must be batches of square matrices, but they are ", t.size(-2),
                " by ", t.size(-1), " matrices");
}
inline void check_same_dtype(const Tensor& a, const Tensor& b, std::string_view op) {
  INGOT_REQUIRE(a.dtype() == b.dtype(), op, ": Expected A and B to have the same dtype, but found A of type ",
                scalar_type_name(a.dtype()), " and B of type ", scalar_type_name(b.dtype()), " instead");
}

// The distance from 1 to the next number of the dtype that LAPACK would compute in.
inline double epsilon_of(DType t) { return real_of(t) == DType::f64 ? 2.220446049250313e-16 : 1.1920928955078125e-07; }

// LAPACK's layout: every matrix column-major, batches one after the other.
inline Geometry column_major(Shape sizes, DType dtype) {
  Geometry g;
  const std::size_t n = sizes.size();
  g.strides = contiguous_strides(sizes);
  g.strides[n - 2] = 1;
  g.strides[n - 1] = max(sizes[n - 2], Int(1));
  g.sizes = std::move(sizes);
  g.dtype = dtype;
  return g;
}

// Calls f(S{}) with double or complex double.
template <class F>
void on_scalar(DType t, const F& f) {
  if (is_complex(t)) f(std::complex<double>{});
  else f(double{});
}
// f(i) for each matrix of a batch.
template <class F>
void for_batch(int64_t batch, int64_t work, const F& f) {
  parallel_for(0, batch, std::max<int64_t>(1, 20000 / std::max<int64_t>(1, work)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) f(i);
  });
}

// The diagonal replaced, functionally: m - diag(m) + diag(d).
inline Tensor with_diagonal(const Tensor& m, const Tensor& d) { return aten<"diagonal_scatter">(m, d, 0, -2, -1); }
inline Tensor lower(const Tensor& t, int64_t diagonal = 0) { return aten<"tril">(t, diagonal); }
inline Tensor upper(const Tensor& t, int64_t diagonal = 0) { return aten<"triu">(t, diagonal); }
inline Tensor solve_triangular_of(const Tensor& a, const Tensor& b, bool upper, bool left = true, bool unit = false) {
  return aten<"linalg_solve_triangular">(a, b, upper, left, unit);
}

}  // namespace ingot
