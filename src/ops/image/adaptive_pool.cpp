// Pooling whose windows follow from the output size: adaptive, fractional; and unpooling.
#include <limits>

#include "op/deterministic.hpp"
#include "ops/common/autocast_policy.hpp"
#include "ops/batch/rules.hpp"
#include "ops/common/composite.hpp"
#include "ops/common/rule_for.hpp"
#include "ops/family.hpp"
#include "ops/image/pooling.hpp"

namespace ingot {
namespace {

Shape target_space(const Call& c, int at, int space) {
  const Shape s = per_space(c[at], space, c.op.schema.name, "output_size");
  for (Int n : s)
    INGOT_REQUIRE(!(n < 0), c.op.schema.name, ": elements of output_size must be greater than or equal to 0, but received ", s);
  return s;
}
void check_floating(const Call& c, const Tensor& x) {
  INGOT_REQUIRE(is_floating(x.dtype()), "\"", c.op.schema.name, "\" not implemented for '", scalar_type_name(x.dtype()), "'");
}
// Channels last is kept in two dims only.
Geometry layout(int space, Shape sizes, const Tensor& like, DType dtype) {
  return space == 2 ? pooled_geometry(std::move(sizes), like, dtype) : Geometry::contiguous(std::move(sizes), dtype);
}

// ---- average

void adaptive_avg_meta(int space, const Call& c, Outputs& o) {
  const Tensor& x = c.tensor(0);
  check_pool_input(c, x, space);
  check_floating(c, x);
  o.add(layout(space, pooled_sizes(x, target_space(c, 1, space)), x, x.dtype()));
}
template <int Space>
void adaptive_avg_kernel(const Call& c, std::span<const Tensor> r) {
  on_kept_small(r[0].dtype(), c.op.schema.name, [&]<class T, class Small>(T, Small) {
    using A = std::conditional_t<Space == 3, Small, T>;  // in two dims PyTorch adds up in float
    const DType t = kernel_dtype(r[0].dtype());
    const DenseResult out(r[0], t);
    const Tensor x = dense(c.tensor(0), t);
    if (out.buffer().numel() == 0) return;
    const kernels::Pool p = pool_sizes(x, r[0], Space);
    for_planes(p, plane_count(x, Space), [&](int64_t begin, int64_t end) {
      kernels::adaptive_avg_pool_forward<T, A>(p, x.data<T>(), out.data<T>(), begin, end);
    });
    out.finish();
  });
}
void adaptive_backward_meta(int space, const Call& c, Outputs& o) {  // grad_output, self[, indices]
  const Tensor &g = c.tensor(0), &x = c.tensor(1);
  check_pool_input(c, x, space);
  check_floating(c, x);
  INGOT_REQUIRE(g.dim() == x.dim(), c.op.schema.name, ": expected grad_output with ", x.dim(), " dims, found ", g.sizes());
  for (int64_t i = 0; i < x.dim() - space; i++)
    INGOT_REQUIRE(g.size(i) == x.size(i), c.op.schema.name, ": grad_output ", g.sizes(), " and self ", x.sizes(),
                  " do not match at dim ", i);
  if (c.args.size() > 2)
    INGOT_REQUIRE(c.tensor(2).sizes() == g.sizes(), c.op.schema.name, ": expected indices of size ", g.sizes(), ", found ",
                  c.tensor(2).sizes());
  o.add(layout(space, x.sizes(), x, x.dtype()));
}
void adaptive_avg_backward_kernel(int space, const Call& c, std::span<const Tensor> r) {
  on_kept_small(r[0].dtype(), c.op.schema.name, [&]<class T, class A>(T, A) {
    const DType t = kernel_dtype(r[0].dtype());
    const DenseResult out(r[0], t);
    const Tensor g = dense(c.tensor(0), t);
    if (g.numel() == 0) return fill_elements(r[0], 0);
    const kernels::Pool p = pool_sizes(r[0], g, space);
    for_planes(p, plane_count(g, space), [&](int64_t begin, int64_t end) {
      kernels::adaptive_avg_pool_backward<T, A>(p, g.data<T>(), out.data<T>(), begin, end);
    });
    out.finish();
  });
}
template <int Space>
void adaptive_avg_backward_vjp(Vjp& v) {
  const Shape& g = v.sizes(0);
  const Shape space = g.sub(g.size() - Space, g.size());
  if (v.need(0)) {
    if constexpr (Space == 2) v.set(0, aten<"_adaptive_avg_pool2d">(v.grad(), space));
    else v.set(0, aten<"_adaptive_avg_pool3d">(v.grad(), space));
  }
  if (v.need(1)) v.set(1, aten<"zeros_like">(v.grad()));
}
// One output element: the mean, which is simpler.
template <int Space>
Value adaptive_avg_body(const Call& c) {
  const Tensor& x = c.tensor(0);
  const Shape space = target_space(c, 1, Space);
  bool one = true;
  for (Int n : space) one = one && n == 1;
  if (!one) {
    if constexpr (Space == 2) return aten<"_adaptive_avg_pool2d">(x, space);
    else return aten<"_adaptive_avg_pool3d">(x, space);
  }
  check_pool_input(c, x, Space);
  Shape dims;
  for (int i = 1; i <= Space; i++) dims.push_back(-i);
  const Tensor mean = x.mean(dims, true);
  if (Space == 2 && suggest_memory_format(x.sizes(), x.strides()) == MemoryFormat::channels_last) {
    const Int ch = x.size(1);
    return mean.as_strided({x.size(0), ch, 1, 1}, {ch, 1, ch, ch});
  }
  return mean;
}

// ---- maximum

void adaptive_max_meta(int space, const Call& c, Outputs& o) {
  const Tensor& x = c.tensor(0);
  check_pool_input(c, x, space);
  check_floating(c, x);
  const Shape sizes = pooled_sizes(x, target_space(c, 1, space));
  o.add(layout(space, sizes, x, x.dtype()));
  o.add(layout(space, sizes, x, DType::i64));
}
void adaptive_max_kernel(int space, const Call& c, std::span<const Tensor> r) {
  on_floating(r[0].dtype(), c.op.schema.name, [&]<class T>(T) {
    const DType t = kernel_dtype(r[0].dtype());
    const DenseResult out(r[0], t), at(r[1], DType::i64);
    const Tensor x = dense(c.tensor(0), t);
    if (out.buffer().numel() == 0) return;
    const kernels::Pool p = pool_sizes(x, r[0], space);
    for_planes(p, plane_count(x, space), [&](int64_t begin, int64_t end) {
      kernels::adaptive_max_pool_forward(p, x.data<T>(), out.data<T>(), at.data<int64_t>(), begin, end);
    });
    out.finish();
    at.finish();
  });
}
template <int Space>
void adaptive_max_vjp(Vjp& v) {
  if (!v.grad(0).defined()) return;
  if constexpr (Space == 2) v.set(0, aten<"adaptive_max_pool2d_backward">(v.grad(0), v.saved(0), v.result(1)));
  else v.set(0, aten<"adaptive_max_pool3d_backward">(v.grad(0), v.saved(0), v.result(1)));
}
void adaptive_max_backward_kernel(int space, const Call& c, std::span<const Tensor> r) {
  scatter_to_maxima(c.tensor(0), c.tensor(2), r[0], space, c.op.schema.name);
}

// ---- fractional: windows of one size whose starts come from a random number per plane and dim

template <class T>
std::vector<int64_t> window_starts(T sample, int64_t in, int64_t out, int64_t window) {
  std::vector<int64_t> s(static_cast<std::size_t>(out));
  if (out > 1) {
    const T alpha = static_cast<T>(in - window) / static_cast<T>(out - 1);
    for (int64_t i = 0; i + 1 < out; i++)
      s[static_cast<std::size_t>(i)] =
          static_cast<int64_t>((static_cast<T>(i) + sample) * alpha) - static_cast<int64_t>(sample * alpha);
  }
  if (out > 0) s.back() = in - window;
  return s;
}
void fractional_meta(int space, const Call& c, Outputs& o) {  // self, kernel_size, output_size, random_samples
  const Tensor& x = c.tensor(0);
  check_pool_input(c, x, space);
  check_floating(c, x);
  const Shape kernel = per_space(c[1], space, c.op.schema.name, "kernel_size"), out = target_space(c, 2, space);
  for (int i = 0; i < space; i++)
    INGOT_REQUIRE(kernel[i] > 0 && out[i] + kernel[i] - 1 <= x.size(i - space), c.op.schema.name, ": pool size ", kernel,
                  " too large relative to input ", x.sizes(), " for output size ", out);
  const Tensor& samples = c.tensor(3);
  INGOT_REQUIRE(samples.dtype() == x.dtype(), "Expect _random_samples to have the same dtype as input");
  INGOT_REQUIRE(samples.dim() == 3 && samples.size(2) == space &&
                    samples.size(0) * samples.size(1) >= (x.dim() == space + 2 ? x.size(0) * x.size(1) : x.size(0)),
                "Expect _random_samples of size [batch, channels, ", space, "], found ", samples.sizes());
  const Shape sizes = pooled_sizes(x, out);
  o.add(sizes, x.dtype());
  o.add(sizes, DType::i64);
}
void fractional_kernel(int space, const Call& c, std::span<const Tensor> r) {
  on_floating(r[0].dtype(), c.op.schema.name, [&]<class T>(T) {
    const DType t = kernel_dtype(r[0].dtype());
    const DenseResult out(r[0], t), at(r[1], DType::i64);
    const Tensor x = dense(c.tensor(0), t), samples = dense(c.tensor(3), t);
    const kernels::Pool p = pool_sizes(x, r[0], space);
    const Shape kernel = per_space(c[1], space, "", "");
    // Dims padded to three in front. PyTorch takes the samples of two dims as (width, height), of
    // three as (time, height, width).
    int64_t in[3] = {1, 1, 1}, n[3] = {1, 1, 1}, k[3] = {1, 1, 1};
    for (int i = 0; i < space; i++)
      in[3 - space + i] = p.in[i], n[3 - space + i] = p.out[i], k[3 - space + i] = kernel[i].value();
    const int64_t planes = plane_count(x, space), in_size = in[0] * in[1] * in[2], out_size = n[0] * n[1] * n[2];
    for_planes(p, planes, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; plane++) {
        const T* s = samples.data<T>() + plane * space;
        const auto d0 = space == 3 ? window_starts(s[0], in[0], n[0], k[0]) : std::vector<int64_t>{0};
        const auto d1 = window_starts(s[1], in[1], n[1], k[1]), d2 = window_starts(s[space == 3 ? 2 : 0], in[2], n[2], k[2]);
        const T* px = x.data<T>() + plane * in_size;
        for (int64_t o = 0; o < out_size; o++) {
          const int64_t a = d0[static_cast<std::size_t>(o / n[2] / n[1])], b = d1[static_cast<std::size_t>(o / n[2] % n[1])],
                        e = d2[static_cast<std::size_t>(o % n[2])];
          T best = -std::numeric_limits<T>::infinity();
          int64_t where = (a * in[1] + b) * in[2] + e;
          for (int64_t i = a; i < a + k[0]; i++)
            for (int64_t j = b; j < b + k[1]; j++)
              for (int64_t l = e; l < e + k[2]; l++) {
                const int64_t q = (i * in[1] + j) * in[2] + l;
                if (px[q] > best || px[q] != px[q]) best = px[q], where = q;
              }
          out.data<T>()[plane * out_size + o] = best;
          at.data<int64_t>()[plane * out_size + o] = where;
        }
      }
    });
    out.finish();
    at.finish();
  });
}
template <int Space>
void fractional_vjp(Vjp& v) {
  if (!v.grad(0).defined() || !v.need(0)) return;
  if constexpr (Space == 2)
    v.set(0, aten<"fractional_max_pool2d_backward">(v.grad(0), v.saved(0), v.arg(1), v.arg(2), v.result(1)));
  else v.set(0, aten<"fractional_max_pool3d_backward">(v.grad(0), v.saved(0), v.arg(1), v.arg(2), v.result(1)));
}
void fractional_backward_meta(int space, const Call& c, Outputs& o) {  // grad_output, self, kernel_size, output_size, indices
  const Tensor& x = c.tensor(1);
  check_pool_input(c, x, space);
  const Shape sizes = pooled_sizes(x, target_space(c, 3, space));
  INGOT_REQUIRE(c.tensor(0).sizes() == sizes && c.tensor(4).sizes() == sizes, c.op.schema.name,
                ": expected grad_output and indices of size ", sizes, ", found ", c.tensor(0).sizes(), " and ",
                c.tensor(4).sizes());
  o.add(x.sizes(), x.dtype());
}
void fractional_backward_kernel(int space, const Call& c, std::span<const Tensor> r) {
  scatter_to_maxima(c.tensor(0), c.tensor(4), r[0], space, c.op.schema.name);
}

// ---- unpooling: values back to where the maxima were, zeros elsewhere

void unpool_meta(int space, const Call& c, Outputs& o) {
  const Tensor &x = c.tensor(0), &at = c.tensor(1);
  refuse_if_deterministic(text("max_unpooling", space, "d_forward_out"));
  check_pool_input(c, x, space);
  INGOT_REQUIRE(at.dtype() == DType::i64, "elements in indices should be type int64 but got: ", at.dtype());
  INGOT_REQUIRE(at.sizes() == x.sizes(), "Expected shape of indices to be same as that of the input tensor (", x.sizes(),
                ") but got indices tensor with shape: ", at.sizes());
  const Shape& size = c[2].ints();
  INGOT_REQUIRE(size.dim() == space, "There should be exactly ", space, " elements in output_size, but got ", size.dim(),
                " elements.");
  o.add(layout(space, pooled_sizes(x, size), x, x.dtype()));
}
void unpool_kernel(int space, const Call& c, std::span<const Tensor> r) {
  // Any dtype: elements are moved, never computed with.
  const DType t = is_floating(r[0].dtype()) ? kernel_dtype(r[0].dtype()) : DType::f64;
  on_floating(t, c.op.schema.name, [&]<class T>(T) {
    const DenseResult out(r[0], t);
    const Tensor x = dense(c.tensor(0), t), at = dense(c.tensor(1), DType::i64);
    fill_elements(out.buffer(), 0);
    const kernels::Pool p = pool_sizes(x, r[0], space);
    int64_t in = 1, n = 1;
    for (int i = 0; i < space; i++) in *= p.in[i], n *= p.out[i];
    const int64_t planes = plane_count(x, space);
    for (int64_t i = 0; i < planes * in; i++) {
      const int64_t to = at.data<int64_t>()[i];
      INGOT_REQUIRE(to >= 0 && to < n, "Found an invalid max index: ", to, " (output volumes are of size ", r[0].sizes(), ")");
      out.data<T>()[i / in * n + to] = x.data<T>()[i];
    }
    out.finish();
  });
}
template <int Space>
void unpool_vjp(Vjp& v) {
  v.set(0, gather_in_planes(v.grad(), v.saved(1), Space));
}

Tensor with_height(const Call& c) {
  const Tensor& x = c.tensor(0);
  INGOT_REQUIRE(x.dim() == 2 || x.dim() == 3, c.op.schema.name, "() Expected 2D or 3D input tensor, but got ", x.sizes());
  return x.unsqueeze(-2);
}

constexpr OpDef kAdaptivePoolOps[] = {
    {.schema = "aten::_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
     .meta = rule_for<adaptive_avg_meta, 2>,
     .kernel = adaptive_avg_kernel<2>,
     .vjp = [](Vjp& v) { v.set(0, aten<"_adaptive_avg_pool2d_backward">(v.grad(), v.saved(0))); },
     .saves = {{0}},
     .batch = batch_samples<3>},
    {.schema = "aten::_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor",
     .meta = rule_for<adaptive_backward_meta, 2>,
     .kernel = rule_for<adaptive_avg_backward_kernel, 2>,
     .vjp = adaptive_avg_backward_vjp<2>,
     .batch = batch_samples<3>},
    {.schema = "aten::_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor",
     .meta = rule_for<adaptive_avg_meta, 3>,
     .kernel = adaptive_avg_kernel<3>,
     .vjp = [](Vjp& v) { v.set(0, aten<"_adaptive_avg_pool3d_backward">(v.grad(), v.saved(0))); },
     .saves = {{0}},
     .batch = batch_samples<4>},
    {.schema = "aten::_adaptive_avg_pool3d_backward(Tensor grad_output, Tensor self) -> Tensor",
     .meta = rule_for<adaptive_backward_meta, 3>,
     .kernel = rule_for<adaptive_avg_backward_kernel, 3>,
     .vjp = adaptive_avg_backward_vjp<3>,
     .batch = batch_samples<4>},
    composite("aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor",
              [](const Call& c) -> Value {
                return aten<"adaptive_avg_pool2d">(with_height(c), Shape{1, target_space(c, 1, 1)[0]}).squeeze(-2);
              }),
    composite("aten::adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor", adaptive_avg_body<2>),
    in_float32(composite("aten::adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor", adaptive_avg_body<3>)),
    {.schema = "aten::adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)",
     .meta = rule_for<adaptive_max_meta, 2>,
     .kernel = rule_for<adaptive_max_kernel, 2>,
     .vjp = adaptive_max_vjp<2>,
     .saves = {{0}, {kResult - 1}},
     .batch = batch_samples<3>},
    {.schema = "aten::adaptive_max_pool2d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor",
     .meta = rule_for<adaptive_backward_meta, 2>,
     .kernel = rule_for<adaptive_max_backward_kernel, 2>,
     .vjp = maxima_backward_vjp<2, 2>,
     .saves = {{2}},
     .batch = batch_samples<3>},
    {.schema = "aten::adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)",
     .meta = rule_for<adaptive_max_meta, 3>,
     .kernel = rule_for<adaptive_max_kernel, 3>,
     .vjp = adaptive_max_vjp<3>,
     .saves = {{0}, {kResult - 1}},
     .autocast = Autocast::float32,
     .batch = batch_samples<4>},
    {.schema = "aten::adaptive_max_pool3d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor",
     .meta = rule_for<adaptive_backward_meta, 3>,
     .kernel = rule_for<adaptive_max_backward_kernel, 3>,
     .vjp = maxima_backward_vjp<3, 2>,
     .saves = {{2}},
     .batch = batch_samples<4>},
    composite("aten::adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)",
              [](const Call& c) -> Value {
                const TensorList r = atens<"adaptive_max_pool2d">(with_height(c), Shape{1, target_space(c, 1, 1)[0]});
                return TensorList{r[0].squeeze(-2), r[1].squeeze(-2)};
              }),
    {.schema =
         "aten::fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor random_samples) -> (Tensor, Tensor)",
     .meta = rule_for<fractional_meta, 2>,
     .kernel = rule_for<fractional_kernel, 2>,
     .vjp = fractional_vjp<2>,
     .saves = {{0}, {kResult - 1}},
     .grad = {.refuses = 0b1000},
     .autocast = Autocast::float32},
    {.schema =
         "aten::fractional_max_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] output_size, Tensor indices) -> Tensor",
     .meta = rule_for<fractional_backward_meta, 2>,
     .kernel = rule_for<fractional_backward_kernel, 2>,
     .vjp = maxima_backward_vjp<2, 4>,
     .saves = {{4}},
     .batch = batch_samples<3>},
    {.schema =
         "aten::fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, Tensor random_samples) -> (Tensor, Tensor)",
     .meta = rule_for<fractional_meta, 3>,
     .kernel = rule_for<fractional_kernel, 3>,
     .vjp = fractional_vjp<3>,
     .saves = {{0}, {kResult - 1}},
     .grad = {.refuses = 0b1000},
     .autocast = Autocast::float32},
    {.schema =
         "aten::fractional_max_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] output_size, Tensor indices) -> Tensor",
     .meta = rule_for<fractional_backward_meta, 3>,
     .kernel = rule_for<fractional_backward_kernel, 3>,
     .vjp = maxima_backward_vjp<3, 4>,
     .saves = {{4}},
     .batch = batch_samples<4>},
    {.schema = "aten::max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor",
     .meta = rule_for<unpool_meta, 2>,
     .kernel = rule_for<unpool_kernel, 2>,
     .vjp = unpool_vjp<2>,
     .saves = {{1}},
     .autocast = Autocast::float32,
     .batch = batch_samples<3>},
    {.schema = "aten::max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding) -> Tensor",
     .meta = rule_for<unpool_meta, 3>,
     .kernel = rule_for<unpool_kernel, 3>,
     .vjp = unpool_vjp<3>,
     .saves = {{1}},
     .autocast = Autocast::float32,
     .batch = batch_samples<4>},
};

}  // namespace

INGOT_FAMILY(adaptive_pool, kAdaptivePoolOps)

}  // namespace ingot
