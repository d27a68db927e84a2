// Distances between the rows of matrices: cdist, pdist and their gradients.
#include <cmath>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "ingot/ingot.hpp"
#include "ingot/op/vjp.hpp"
#include "op/call.hpp"
#include "ops/batch/rules.hpp"
#include "ops/common/dense.hpp"
#include "ops/family.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

// The p-norm of a difference, and the derivative of the norm by one component of it.
template <class T>
T distance(const T* a, const T* b, int64_t n, double p) {
  T sum = 0;
  for (int64_t k = 0; k < n; k++) {
    const T d = std::abs(a[k] - b[k]);
    if (p == 0) sum += d != T(0);
    else if (p == 1) sum += d;
    else if (p == 2) sum += d * d;
    else if (std::isinf(p)) sum = d != d || d > sum ? d : sum;
    else sum += std::pow(d, T(p));
  }
  if (p == 0 || p == 1 || std::isinf(p)) return sum;
  return p == 2 ? std::sqrt(sum) : std::pow(sum, T(1 / p));
}
template <class T>
T distance_slope(T diff, T dist, double p) {
  const T sign = T(diff > 0) - T(diff < 0);
  if (p == 0) return 0;
  if (p == 1) return sign;
  if (std::isinf(p)) return sign * (T(1) - std::min(T(1), std::ceil(std::abs(std::abs(diff) - dist))));
  if (dist == T(0) || (diff == T(0) && p < 1)) return 0;
  if (p == 2) return diff / dist;
  return sign * std::pow(std::abs(diff) / dist, T(p - 1));
}

void check_p(const Call& c, const Value& p) {
  INGOT_REQUIRE(p.to_double() >= 0, c.op.schema.name, " only supports non-negative p values, found ", p.to_double());
}
// [batch..., rows of x1, rows of x2]
Shape cdist_sizes(const Tensor& a, const Tensor& b) {
  INGOT_REQUIRE(a.dim() >= 2, "cdist only supports at least 2D tensors, X1 got: ", a.dim(), "D");
  INGOT_REQUIRE(b.dim() >= 2, "cdist only supports at least 2D tensors, X2 got: ", b.dim(), "D");
  INGOT_REQUIRE(a.size(-1) == b.size(-1), "X1 and X2 must have the same number of columns. X1: ", a.size(-1),
                " X2: ", b.size(-1));
  INGOT_REQUIRE(is_floating(a.dtype()) && a.dtype() == b.dtype(),
                "cdist only supports floating-point dtypes, both the same. X1: ", a.dtype(), " X2: ", b.dtype());
  Shape s = broadcast_shapes(a.sizes().sub(0, a.sizes().size() - 2), b.sizes().sub(0, b.sizes().size() - 2), "cdist");
  s.push_back(a.size(-2));
  s.push_back(b.size(-2));
  return s;
}
// t with its leading dims broadcast to those of `sizes`.
Tensor with_batch(const Tensor& t, const Shape& sizes, DType dtype) {
  Shape s = sizes.sub(0, sizes.size() - 2);
  s.push_back(t.size(-2));
  s.push_back(t.size(-1));
  return dense(make_alias(t, expand_geometry(t->geom, s)), dtype);
}

void cdist_kernel(const Call& c, std::span<const Tensor> r) {
  const double p = c[2].to_double();
  on_floating(r[0].dtype(), "cdist", [&]<class T>(T) {
    const DType t = kernel_dtype(r[0].dtype());
    const DenseResult out(r[0], t);
    const Tensor a = with_batch(c.tensor(0), r[0].sizes(), t), b = with_batch(c.tensor(1), r[0].sizes(), t);
    const int64_t rows = a.size(-2).value(), cols = b.size(-2).value(), n = a.size(-1).value(),
                  total = out.buffer().numel().value();
    if (total == 0) return;
    const T *pa = a.data<T>(), *pb = b.data<T>();
    T* po = out.data<T>();
    parallel_for(0, total / cols, 64, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++)
        for (int64_t j = 0; j < cols; j++) po[i * cols + j] = distance(pa + i * n, pb + (i / rows * cols + j) * n, n, p);
    });
    out.finish();
  });
}
// grad, x1, x2, p, cdist -> gradient of x1, broadcast to the batch
void cdist_backward_kernel(const Call& c, std::span<const Tensor> r) {
  const double p = c[3].to_double();
  on_floating(r[0].dtype(), "_cdist_backward", [&]<class T>(T) {
    const DType t = kernel_dtype(r[0].dtype());
    const DenseResult out(r[0], t);
    const Shape& sizes = c.tensor(4).sizes();
    const Tensor g = dense(c.tensor(0), t), dist = dense(c.tensor(4), t), a = with_batch(c.tensor(1), sizes, t),
                 b = with_batch(c.tensor(2), sizes, t);
    const int64_t rows = a.size(-2).value(), cols = b.size(-2).value(), n = a.size(-1).value(),
                  total = out.buffer().numel().value();
    if (total == 0) return;
    const T *pa = a.data<T>(), *pb = b.data<T>(), *pg = g.data<T>(), *pd = dist.data<T>();
    T* po = out.data<T>();
    parallel_for(0, total / n, 64, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++)
        for (int64_t k = 0; k < n; k++) {
          T sum = 0;
          for (int64_t j = 0; j < cols; j++)
            sum += pg[i * cols + j] * distance_slope(pa[i * n + k] - pb[(i / rows * cols + j) * n + k], pd[i * cols + j], p);
          po[i * n + k] = sum;
        }
    });
    out.finish();
  });
}

// Place of the pair (i, j), i < j, in pdist's result.
int64_t pair_place(int64_t i, int64_t j, int64_t n) { return n * i - i * (i + 1) / 2 + j - i - 1; }
void pdist_kernel(const Call& c, std::span<const Tensor> r) {
  on_floating(r[0].dtype(), "pdist", [&]<class T>(T) {
    const DType t = kernel_dtype(r[0].dtype());
    const DenseResult out(r[0], t);
    const Tensor x = dense(c.tensor(0), t);
    const int64_t n = x.size(0).value(), m = x.size(1).value();
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = i + 1; j < n; j++)
        out.data<T>()[pair_place(i, j, n)] = distance(x.data<T>() + i * m, x.data<T>() + j * m, m, c[1].to_double());
    out.finish();
  });
}
void pdist_backward_kernel(const Call& c, std::span<const Tensor> r) {  // grad, self, p, pdist
  on_floating(r[0].dtype(), "_pdist_backward", [&]<class T>(T) {
    const DType t = kernel_dtype(r[0].dtype());
    const DenseResult out(r[0], t);
    const Tensor g = dense(c.tensor(0), t), x = dense(c.tensor(1), t), dist = dense(c.tensor(3), t);
    const int64_t n = x.size(0).value(), m = x.size(1).value();
    const T* px = x.data<T>();
    T* po = out.data<T>();
    std::fill(po, po + n * m, T(0));
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = i + 1; j < n; j++) {
        const int64_t at = pair_place(i, j, n);
        for (int64_t k = 0; k < m; k++) {
          const T s = g.data<T>()[at] * distance_slope(px[i * m + k] - px[j * m + k], dist.data<T>()[at], c[2].to_double());
          po[i * m + k] += s;
          po[j * m + k] -= s;
        }
      }
    out.finish();
  });
}

Value euclidean_body(const Call& c) {  // |a - b|^2 = |a|^2 - 2ab + |b|^2 as one product
  const Tensor &a = c.tensor(0), &b = c.tensor(1);
  const Tensor na = a.pow(2).sum({-1}, true), nb = b.pow(2).sum({-1}, true);
  const Tensor left = cat({a * -2, na, aten<"ones_like">(na)}, -1), right = cat({b, aten<"ones_like">(nb), nb}, -1);
  return aten<"clamp_min">(left.matmul(right.transpose(-2, -1)), 0).sqrt();
}
void euclidean_vjp(Vjp& v) {
  const Tensor a = v.saved(0), b = v.saved(1);
  const Tensor ratio = masked_fill(v.grad() / v.result(), v.result() == 0, 0);
  if (v.need(0)) v.set(0, a * ratio.sum({-1}, true) - ratio.matmul(b));
  if (v.need(1)) v.set(1, b * ratio.sum({-2}, false).unsqueeze(-1) - ratio.transpose(-2, -1).matmul(a));
}

Value cdist_body(const Call& c) {
  const Tensor &a = c.tensor(0), &b = c.tensor(1);
  const Shape sizes = cdist_sizes(a, b);
  check_p(c, c[2]);
  const int64_t mode = c[3].is_none() ? 0 : c[3].to_int64();
  INGOT_REQUIRE(mode >= 0 && mode <= 2, "possible modes: 0, 1, 2, but was: ", mode);
  const bool euclidean = c[2].to_double() == 2 && (mode == 1 || (mode == 0 && (a.size(-2) > 25 || b.size(-2) > 25)));
  if (!euclidean || a.numel() == 0 || b.numel() == 0) return aten<"_cdist_forward">(a, b, c[2], c[3]);
  Shape batch = sizes.sub(0, sizes.size() - 2);
  auto expanded = [&](const Tensor& t) {
    Shape s = batch;
    s.push_back(t.size(-2));
    s.push_back(t.size(-1));
    return t.expand(s);
  };
  return aten<"_euclidean_dist">(expanded(a), expanded(b));
}

constexpr OpDef kDistanceOps[] = {
    {.schema = "aten::cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor",
     .form = Form::composite,
     .body = cdist_body,
     .autocast = Autocast::float32},
    {.schema = "aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor",
     .meta =
         [](const Call& c, Outputs& o) {
           check_p(c, c[2]);
           o.add(cdist_sizes(c.tensor(0), c.tensor(1)), c.tensor(0).dtype());
         },
     .kernel = cdist_kernel,
     .vjp =
         [](Vjp& v) {
           const Tensor a = v.saved(0), b = v.saved(1), &d = v.result();
           auto transposed = [](const Tensor& t) { return t.transpose(-2, -1).contiguous(); };
           if (v.need(0)) v.set(0, aten<"_cdist_backward">(v.grad().contiguous(), a, b, v.arg(2), d));
           if (v.need(1)) v.set(1, aten<"_cdist_backward">(transposed(v.grad()), b, a, v.arg(2), transposed(d)));
         },
     .saves = {{0}, {1}, {kResult}},
     .batch = batch_cores<2, 2>},
    {.schema = "aten::_cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor",
     .meta =
         [](const Call& c, Outputs& o) {
           const Shape sizes = cdist_sizes(c.tensor(1), c.tensor(2));
           INGOT_REQUIRE(c.tensor(0).sizes() == sizes && c.tensor(4).sizes() == sizes,
                         "_cdist_backward: expected grad and cdist of size ", sizes, ", found ", c.tensor(0).sizes(), " and ",
                         c.tensor(4).sizes());
           Shape s = sizes.sub(0, sizes.size() - 2);
           s.push_back(c.tensor(1).size(-2));
           s.push_back(c.tensor(1).size(-1));
           o.add(std::move(s), c.tensor(1).dtype());
         },
     .kernel = cdist_backward_kernel,
     .vjp = refuse_vjp,
     .batch = batch_cores<2, 2, 2, 2>},
    {.schema = "aten::_euclidean_dist(Tensor x1, Tensor x2) -> Tensor",
     .body = euclidean_body,
     .vjp = euclidean_vjp,
     .saves = {{0}, {1}, {kResult}}},
    {.schema = "aten::pdist(Tensor self, float p=2.) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value {
       INGOT_REQUIRE(c.tensor(0).dim() == 2, "pdist only supports 2D tensors, got: ", c.tensor(0).dim(), "D");
       return aten<"_pdist_forward">(c.tensor(0).contiguous(), c[1]);
     }},
    {.schema = "aten::_pdist_forward(Tensor self, float p=2.) -> Tensor",
     .meta =
         [](const Call& c, Outputs& o) {
           const Tensor& x = c.tensor(0);
           INGOT_REQUIRE(x.dim() == 2, "_pdist_forward: expected a 2D tensor, found ", x.sizes());
           INGOT_REQUIRE(is_floating(x.dtype()), "pdist only supports floating-point dtypes, found ", x.dtype());
           check_p(c, c[1]);
           o.add({floor_div(x.size(0) * (x.size(0) - 1), 2)}, x.dtype());
         },
     .kernel = pdist_kernel,
     .vjp = [](Vjp& v) { v.set(0, aten<"_pdist_backward">(v.grad(), v.saved(0), v.arg(1), v.result())); },
     .saves = {{0}, {kResult}}},
    {.schema = "aten::_pdist_backward(Tensor grad, Tensor self, float p, Tensor pdist) -> Tensor",
     .meta =
         [](const Call& c, Outputs& o) {
           const Tensor& x = c.tensor(1);
           INGOT_REQUIRE(x.dim() == 2, "_pdist_backward: expected a 2D tensor, found ", x.sizes());
           const Shape pairs{floor_div(x.size(0) * (x.size(0) - 1), 2)};
           INGOT_REQUIRE(c.tensor(0).sizes() == pairs && c.tensor(3).sizes() == pairs,
                         "_pdist_backward: expected grad and pdist of size ", pairs, ", found ", c.tensor(0).sizes(), " and ",
                         c.tensor(3).sizes());
           o.add(x.sizes(), x.dtype());
         },
     .kernel = pdist_backward_kernel,
     .vjp = refuse_vjp},
};

}  // namespace

INGOT_FAMILY(distance, kDistanceOps)

}  // namespace ingot
