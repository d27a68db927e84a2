// Running sums, products, extremes and log-sum-exps along a dim.
#include <cmath>
#include <limits>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ops/batch/rules.hpp"
#include "ops/reduce/dim_rows.hpp"
#include "ops/family.hpp"
#include "ops/reduce/fold.hpp"
#include "ops/reduce/reduction.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

int scan_dim(const Call& c) { return wrap_dim(c[1].to_int64(), static_cast<int>(c.tensor(0).dim())); }
int64_t scan_length(const Call& c) { return c.tensor(0).dim() == 0 ? 1 : c.tensor(0).sizes()[scan_dim(c)].number(); }
Tensor flipped(const Tensor& t, int64_t dim) { return aten<"flip">(t, Shape{dim}); }

// ---- sums and products: self, dim, dtype
void widened_meta(const Call& c, Outputs& o) {
  const Tensor& self = c.tensor(0);
  scan_dim(c);
  const DType in = self.dtype();
  o.add(self.sizes(), c[2].dtype_or(is_integral(in) || in == DType::b8 ? DType::i64 : in));
}
template <bool Product>
void accumulate_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor tensors[] = {c.tensor(0), r[0]};
  const int64_t n = scan_length(c);
  with_compute(compute_type(r[0].dtype()), [&]<class T>(T) {
    if constexpr (!std::same_as<T, bool>)
      for_each_row(tensors, scan_dim(c), n, [&](const DimRow& row) {
        T* x = row_buffer<T>(n);
        load_row(tensors[0].dtype(), row.data[0], row.strides[0], n, detail::compute_of<T>(), x);
        Wide<T> a(Product ? 1 : 0);
        for (int64_t i = 0; i < n; i++) {
          if (Product) a *= static_cast<Wide<T>>(x[i]);
          else a += static_cast<Wide<T>>(x[i]);
          x[i] = static_cast<T>(a);
        }
        store_row(detail::compute_of<T>(), x, n, r[0].dtype(), row.data[1], row.strides[1]);
      });
  });
}

void cumsum_vjp(Vjp& v) {
  const Tensor grad = v.grad().dtype() == v.geom(0).dtype ? v.grad() : aten<"_to_copy">(v.grad(), v.geom(0).dtype);
  const int64_t dim = v.arg(1).to_int64();
  if (grad.dim() == 0 || grad.numel() <= 1 || grad.size(dim) == 1) return v.set(0, grad);
  v.set(0, flipped(aten<"cumsum">(flipped(grad, dim), dim), dim));
}

// d/dx_k of sum_j grad_j prod_{i<=j} x_i: for every k, the products that leave x_k out. Right where
// elements are zero, but quadratic in the length of the dim.
Tensor cumprod_gradient(const Tensor& grad, const Tensor& input, int64_t dim) {
  const int64_t n = input.size(dim).value();
  Shape one = input.sizes();
  one[static_cast<std::size_t>(dim)] = 1;
  const Tensor ones = aten<"new_ones">(input, one);
  TensorList parts;
  for (int64_t k = 0; k < n; k++) {
    const Tensor before = k == 0 ? ones : aten<"prod.dim_int">(aten<"slice.Tensor">(input, dim, 0, k), dim, true);
    Tensor without = before;
    if (k + 1 < n) {
      const Tensor after = aten<"cumprod">(aten<"slice.Tensor">(input, dim, k + 1), dim);
      without = aten<"cat">(TensorList{before, before * after}, dim);
    }
    parts.push_back(aten<"sum.dim_IntList">(aten<"slice.Tensor">(grad, dim, k) * conjugate(without), Shape{dim}));
  }
  return aten<"stack">(parts, dim);
}
// The same in a few passes, but no function to differentiate: what is zero decides it. Before the
// first zero of a row it is the usual quotient, behind it nothing; at the zero, the products that
// leave it out.
Tensor cumprod_gradient_by_zeros(const Tensor& grad, const Tensor& input, const Tensor& output, int64_t dim) {
  const Tensor zero = aten<"eq.Scalar">(input, 0), zeros = aten<"cumsum">(zero, dim);
  const Tensor before = aten<"eq.Scalar">(zeros, 0), behind_one = aten<"eq.Scalar">(zeros, 1);
  const Tensor first = aten<"logical_and">(zero, behind_one);
  const Tensor weighted = aten<"where.ScalarOther">(before, conjugate(output) * grad, 0);
  const Tensor quotient = flipped(aten<"cumsum">(flipped(weighted, dim), dim), dim) / conjugate(input);
  const Tensor after =
      aten<"cumprod">(aten<"where.ScalarOther">(aten<"logical_and">(behind_one, aten<"logical_not">(zero)), input, 1), dim);
  const Tensor place = aten<"sum.dim_IntList">(before, Shape{dim}, true);
  const Tensor last = aten<"gather">(output, dim, aten<"clamp">(aten<"sub.Scalar">(place, 1), 0));
  const Tensor product = aten<"where.ScalarOther">(aten<"gt.Scalar">(place, 0), last, 1);
  const Tensor behind =
      aten<"sum.dim_IntList">(grad * aten<"where.ScalarOther">(behind_one, conjugate(after), 0), Shape{dim}, true);
  return aten<"where.self">(first, behind * conjugate(product), aten<"where.ScalarOther">(before, quotient, 0));
}
Value cumprod_backward(const Call& c) {
  const Tensor &grad = c.tensor(0), &input = c.tensor(1), &output = c.tensor(3);
  const int64_t dim = wrap_dim(c[2].to_int64(), static_cast<int>(input.dim()));
  if (input.numel() <= 1 || input.dim() == 0 || input.size(dim) == 1) return grad;
  if (may_look_at(input) && !aten<"any">(aten<"eq.Scalar">(aten<"detach">(input), 0)).item().to_bool()) {
    const Tensor weighted = conjugate(output) * grad;
    return flipped(aten<"cumsum">(flipped(weighted, dim), dim), dim) / conjugate(input);
  }
  if (!wants_gradient(grad) && !wants_gradient(input)) return cumprod_gradient_by_zeros(grad, input, output, dim);
  return cumprod_gradient(grad, input, dim);
}
void cumprod_vjp(Vjp& v) {
  const Tensor self = v.saved(0);
  auto as = [](const Tensor& t, DType d) { return t.dtype() == d ? t : aten<"_to_copy">(t, d); };
  v.set(0, aten<"cumprod_backward">(as(v.grad(), self.dtype()), self, v.arg(1), as(v.result(), self.dtype())));
}

// ---- extremes: values and indices; of equal elements the last
void extreme_meta(const Call& c, Outputs& o) {
  const Tensor& self = c.tensor(0);
  scan_dim(c);
  INGOT_REQUIRE(!self.is_complex(), "\"", c.op.schema.name, "\" not implemented for '", scalar_type_name(self.dtype()), "'");
  o.add(self.sizes(), self.dtype());
  o.add(self.sizes(), DType::i64);
}
template <bool Max>
void extreme_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor tensors[] = {c.tensor(0), r[0], r[1]};
  const int64_t n = scan_length(c);
  if (c.tensor(0).numel() == 0) return;
  with_compute(compute_type(r[0].dtype()), [&]<class T>(T) {
    if constexpr (!std::same_as<T, std::complex<double>>)
      for_each_row(tensors, scan_dim(c), n, [&](const DimRow& row) {
        T* x = row_buffer<T>(n);
        load_row(tensors[0].dtype(), row.data[0], row.strides[0], n, detail::compute_of<T>(), x);
        int64_t* at = row_buffer<int64_t>(n, 1);
        T best = x[0];
        int64_t where = 0;
        for (int64_t i = 0; i < n; i++) {
          if (x[i] != x[i] || (best == best && (Max ? x[i] >= best : x[i] <= best))) best = x[i], where = i;
          x[i] = best;
          at[i] = where;
        }
        store_row(detail::compute_of<T>(), x, n, r[0].dtype(), row.data[1], row.strides[1]);
        store_row(Compute::i64, at, n, DType::i64, row.data[2], row.strides[2]);
      });
  });
}
void extreme_vjp(Vjp& v) {
  if (v.grad(0).defined()) v.set(0, aten<"cummaxmin_backward">(v.grad(0), v.saved(0), v.result(1), v.arg(1)));
}

// ---- log-sum-exp
template <class T>
T log_add(T a, T b) {
  if constexpr (std::same_as<T, std::complex<double>>) {
    const T &hi = a.real() >= b.real() ? a : b, &lo = a.real() >= b.real() ? b : a;
    if (std::isinf(hi.real()) && hi.real() < 0) return hi;
    return hi + std::log(T(1) + std::exp(lo - hi));
  } else {
    const T hi = a != a || a > b ? a : b, lo = a != a || a > b ? b : a;
    if (lo == hi && std::isinf(hi)) return hi;  // inf - inf
    return hi + std::log1p(std::exp(lo - hi));
  }
}
void logcumsumexp_meta(const Call& c, Outputs& o) {
  const Tensor& self = c.tensor(0);
  scan_dim(c);
  INGOT_REQUIRE(is_differentiable(self.dtype()), "\"logcumsumexp\" not implemented for '", scalar_type_name(self.dtype()), "'");
  o.add(self.sizes(), self.dtype());
}
void logcumsumexp_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor tensors[] = {c.tensor(0), r[0]};
  const int64_t n = scan_length(c);
  with_compute(compute_type(r[0].dtype()), [&]<class T>(T) {
    if constexpr (std::floating_point<T> || std::same_as<T, std::complex<double>>)
      for_each_row(tensors, scan_dim(c), n, [&](const DimRow& row) {
        using W = std::conditional_t<std::same_as<T, float>, double, T>;
        W* x = row_buffer<W>(n);
        load_row(tensors[0].dtype(), row.data[0], row.strides[0], n, detail::compute_of<W>(), x);
        for (int64_t i = 1; i < n; i++) x[i] = log_add(x[i], x[i - 1]);
        store_row(detail::compute_of<W>(), x, n, r[0].dtype(), row.data[1], row.strides[1]);
      });
  });
}
// In log space too: sums of exponentials may overflow where the gradient does not. Positive and
// negative parts apart.
void logcumsumexp_vjp(Vjp& v) {
  const Tensor grad = v.grad(), self = v.saved(0), result = v.result();
  if (grad.dim() == 0 || grad.numel() == 0) return v.set(0, grad);
  const int64_t dim = v.arg(1).to_int64();
  auto from_the_end = [&](const Tensor& x) { return flipped(aten<"logcumsumexp">(flipped(x, dim), dim), dim); };
  if (grad.is_complex()) {
    const Tensor log_grad = aten<"log">(conjugate(grad));
    return v.set(0, conjugate(aten<"exp">(from_the_end(log_grad - result) + self)));
  }
  const double lowest =
      grad.dtype() == DType::f64 ? std::numeric_limits<double>::lowest() : double{std::numeric_limits<float>::lowest()};
  const Tensor log_grad = aten<"log">(aten<"abs">(grad));
  auto part = [&](const Tensor& mask) {
    return aten<"exp">(from_the_end(aten<"where.ScalarOther">(mask, log_grad, lowest) - result) + self);
  };
  v.set(0, part(aten<"gt.Scalar">(grad, 0)) - part(aten<"lt.Scalar">(grad, 0)));
}

constexpr OpDef kCumulativeOps[] = {
    {.schema = "aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
     .meta = widened_meta,
     .kernel = accumulate_kernel<false>,
     .vjp = cumsum_vjp,
     .batch = batch_dims},
    {.schema = "aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
     .meta = widened_meta,
     .kernel = accumulate_kernel<true>,
     .vjp = cumprod_vjp,
     .saves = {{0}, {kResult}},
     .batch = batch_dims},
    {.schema = "aten::cumprod_backward(Tensor grad, Tensor input, int dim, Tensor output) -> Tensor",
     .form = Form::composite,
     .body = cumprod_backward},
    {.schema = "aten::cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)",
     .meta = extreme_meta,
     .kernel = extreme_kernel<true>,
     .vjp = extreme_vjp,
     .saves = {{0}, {kResult - 1}},
     .batch = batch_dims},
    {.schema = "aten::cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)",
     .meta = extreme_meta,
     .kernel = extreme_kernel<false>,
     .vjp = extreme_vjp,
     .saves = {{0}, {kResult - 1}},
     .batch = batch_dims},
    {.schema = "aten::cummaxmin_backward(Tensor grad, Tensor input, Tensor indices, int dim) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value {
       if (c.tensor(1).numel() == 0) return c[1];
       return aten<"scatter_add">(aten<"new_zeros">(c.tensor(0), c.tensor(1).sizes()), c[3], c[2], c[0]);
     }},
    {.schema = "aten::logcumsumexp(Tensor self, int dim) -> Tensor",
     .meta = logcumsumexp_meta,
     .kernel = logcumsumexp_kernel,
     .vjp = logcumsumexp_vjp,
     .saves = {{0}, {kResult}},
     .batch = batch_dims},
};

}  // namespace

INGOT_FAMILY(cumulative, kCumulativeOps)

}  // namespace ingot
