// Pooling with windows of fixed size: maximum and average in one to three dims, with gradients.
#include "ops/common/autocast_policy.hpp"
#include "ops/batch/rules.hpp"
#include "ops/common/composite.hpp"
#include "ops/common/rule_for.hpp"
#include "ops/family.hpp"
#include "ops/image/pool_window.hpp"
#include "ops/image/pooling.hpp"

namespace ingot {

PoolWindow pool_window(const Call& c, int space, int at, bool dilated) {
  const std::string& op = c.op.schema.name;
  PoolWindow w;
  w.kernel = per_space(c[at], space, op, "kernel_size");
  w.stride = c[at + 1].ints().empty() ? w.kernel : per_space(c[at + 1], space, op, "stride");
  w.padding = per_space(c[at + 2], space, op, "padding");
  w.dilation = dilated ? per_space(c[at + 3], space, op, "dilation") : Shape::filled(static_cast<std::size_t>(space), 1);
  w.ceil_mode = c[at + 3 + dilated].to_bool();
  for (int i = 0; i < space; i++) {
    INGOT_REQUIRE(w.kernel[i] > 0, op, ": kernel size should be greater than zero, but got ", w.kernel);
    INGOT_REQUIRE(w.stride[i] > 0, op, ": stride should be greater than zero, but got ", w.stride);
    INGOT_REQUIRE(w.dilation[i] > 0, op, ": dilation should be greater than zero, but got ", w.dilation);
    INGOT_REQUIRE(!(w.padding[i] < 0), op, ": pad must be non-negative, but got pad: ", w.padding);
    INGOT_REQUIRE(w.padding[i] * 2 <= (w.kernel[i] - 1) * w.dilation[i] + 1, op,
                  ": pad should be at most half of effective kernel size, but got pad=", w.padding[i],
                  ", kernel_size=", w.kernel[i], " and dilation=", w.dilation[i]);
  }
  return w;
}

namespace {

Shape output_space(const Call& c, const PoolWindow& w, const Tensor& x) {
  const int space = w.kernel.dim();
  check_pool_input(c, x, space);
  Shape out;
  for (int i = 0; i < space; i++) {
    const Int in = x.size(i - space), rest = in + w.padding[i] * 2 - w.dilation[i] * (w.kernel[i] - 1) - 1;
    Int n = floor_div(w.ceil_mode ? rest + w.stride[i] - 1 : rest, w.stride[i]) + 1;
    // The last window starts inside the input or its left padding.
    if (w.ceil_mode && (n - 1) * w.stride[i] >= in + w.padding[i]) n = n - 1;
    INGOT_REQUIRE(n >= 1, "Given input size: ", x.sizes(), ". Calculated output size at dim ", i, ": ", n,
                  ". Output size is too small");
    out.push_back(n);
  }
  return out;
}
void check_gradient(const Call& c, const Tensor& grad, const Shape& sizes) {
  INGOT_REQUIRE(grad.sizes() == sizes, c.op.schema.name, ": expected grad_output of size ", sizes, ", found ", grad.sizes());
}
kernels::Pool describe(const PoolWindow& w, const Tensor& in, const Tensor& out) {
  kernels::Pool p = pool_sizes(in, out, w.kernel.dim());
  for (int i = 0; i < p.dims; i++) {
    p.kernel[i] = w.kernel[i].value();
    p.stride[i] = w.stride[i].value();
    p.padding[i] = w.padding[i].value();
    p.dilation[i] = w.dilation[i].value();
  }
  return p;
}

// ---- maximum

void max_pool_meta(int space, const Call& c, Outputs& o) {
  const Tensor& x = c.tensor(0);
  INGOT_REQUIRE(!is_complex(x.dtype()) && x.dtype() != DType::b8, "\"", c.op.schema.name, "\" not implemented for '",
                scalar_type_name(x.dtype()), "'");
  const Shape sizes = pooled_sizes(x, output_space(c, pool_window(c, space, 1, true), x));
  o.add(pooled_geometry(sizes, x, x.dtype()));
  o.add(pooled_geometry(sizes, x, DType::i64));
}
void max_pool_kernel(int space, const Call& c, std::span<const Tensor> r) {
  const DType t = kernel_dtype(r[0].dtype());
  const DenseResult out(r[0], t), at(r[1], DType::i64);
  const Tensor x = dense(c.tensor(0), t);
  const kernels::Pool p = describe(pool_window(c, space, 1, true), x, r[0]);
  auto run = [&]<class T>(T) {
    for_planes(p, plane_count(x, space), [&](int64_t begin, int64_t end) {
      kernels::max_pool_forward(p, x.data<T>(), out.data<T>(), at.data<int64_t>(), begin, end);
    });
  };
  if (t == DType::i64) run(int64_t{});
  else on_floating(t, "max_pool", run);
  out.finish();
  at.finish();
}
template <int Space>
void max_pool_vjp(Vjp& v) {
  if (!v.grad(0).defined()) return;
  if constexpr (Space == 2)
    v.set(0, aten<"max_pool2d_with_indices_backward">(v.grad(0), v.saved(0), v.arg(1), v.arg(2), v.arg(3), v.arg(4), v.arg(5),
                                                      v.result(1)));
  else
    v.set(0, aten<"max_pool3d_with_indices_backward">(v.grad(0), v.saved(0), v.arg(1), v.arg(2), v.arg(3), v.arg(4), v.arg(5),
                                                      v.result(1)));
}
void max_pool_backward_meta(int space, const Call& c,
                            Outputs& o) {  // grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices
  const Tensor& x = c.tensor(1);
  const Shape sizes = pooled_sizes(x, output_space(c, pool_window(c, space, 2, true), x));
  check_gradient(c, c.tensor(0), sizes);
  INGOT_REQUIRE(c.tensor(7).sizes() == sizes, c.op.schema.name, ": expected indices of size ", sizes, ", found ",
                c.tensor(7).sizes());
  o.add(pooled_geometry(x.sizes(), x, x.dtype()));
}
void max_pool_backward_kernel(int space, const Call& c, std::span<const Tensor> r) {
  scatter_to_maxima(c.tensor(0), c.tensor(7), r[0], space, c.op.schema.name);
}

// ---- average

Geometry avg_geometry(int space, Shape sizes, const Tensor& like, DType dtype) {
  return space == 2 ? pooled_geometry(std::move(sizes), like, dtype) : Geometry::contiguous(std::move(sizes), dtype);
}
void check_divisor(const Value& v) { INGOT_REQUIRE(v.is_none() || !(v.to_int() == 0), "divisor must be not zero"); }
// Integers are averaged in double and truncated.
DType avg_dtype(DType t) { return is_integral(t) ? DType::f64 : kernel_dtype(t); }

void avg_pool_meta(int space, const Call& c,
                   Outputs& o) {  // self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
  const Tensor& x = c.tensor(0);
  INGOT_REQUIRE(is_floating(x.dtype()) || x.dtype() == DType::i64, "\"", c.op.schema.name, "\" not implemented for '",
                scalar_type_name(x.dtype()), "'");
  check_divisor(c[6]);
  o.add(avg_geometry(space, pooled_sizes(x, output_space(c, pool_window(c, space, 1, false), x)), x, x.dtype()));
}
void avg_pool_kernel(int space, const Call& c, std::span<const Tensor> r) {
  on_floating(avg_dtype(r[0].dtype()), c.op.schema.name, [&]<class T>(T) {
    const DType t = avg_dtype(r[0].dtype());
    const DenseResult out(r[0], t);
    const Tensor x = dense(c.tensor(0), t);
    const kernels::Pool p = describe(pool_window(c, space, 1, false), x, r[0]);
    for_planes(p, plane_count(x, space), [&](int64_t begin, int64_t end) {
      kernels::avg_pool_forward(p, c[5].to_bool(), c[6].int_or(0).value(), x.data<T>(), out.data<T>(), begin, end);
    });
    out.finish();
  });
}
template <int Space>
void avg_pool_vjp(Vjp& v) {
  if constexpr (Space == 2)
    v.set(0, aten<"avg_pool2d_backward">(v.grad(), v.saved(0), v.arg(1), v.arg(2), v.arg(3), v.arg(4), v.arg(5), v.arg(6)));
  else v.set(0, aten<"avg_pool3d_backward">(v.grad(), v.saved(0), v.arg(1), v.arg(2), v.arg(3), v.arg(4), v.arg(5), v.arg(6)));
}
void avg_pool_backward_meta(int space, const Call& c, Outputs& o) {  // grad_output, self, kernel_size, …
  const Tensor& x = c.tensor(1);
  check_divisor(c[7]);
  check_gradient(c, c.tensor(0), pooled_sizes(x, output_space(c, pool_window(c, space, 2, false), x)));
  o.add(avg_geometry(space, x.sizes(), x, x.dtype()));
}
void avg_pool_backward_kernel(int space, const Call& c, std::span<const Tensor> r) {
  const DType of = r[0].dtype();
  on_kept_small(is_integral(of) ? DType::f64 : of, c.op.schema.name, [&]<class T, class A>(T, A) {
    const DType t = avg_dtype(of);
    const DenseResult out(r[0], t);
    const Tensor g = dense(c.tensor(0), t);
    const kernels::Pool p = describe(pool_window(c, space, 2, false), r[0], g);
    for_planes(p, plane_count(g, space), [&](int64_t begin, int64_t end) {
      kernels::avg_pool_backward<T, A>(p, c[6].to_bool(), c[7].int_or(0).value(), g.data<T>(), out.data<T>(), begin, end);
    });
    out.finish();
  });
}
template <int Space>
void avg_pool_backward_vjp(Vjp& v) {
  if (v.need(0)) {
    if constexpr (Space == 2) v.set(0, aten<"avg_pool2d">(v.grad(), v.arg(2), v.arg(3), v.arg(4), v.arg(5), v.arg(6), v.arg(7)));
    else v.set(0, aten<"avg_pool3d">(v.grad(), v.arg(2), v.arg(3), v.arg(4), v.arg(5), v.arg(6), v.arg(7)));
  }
  if (v.need(1)) v.set(1, aten<"zeros_like">(v.grad()));
}

// ---- one dim, as a plane of height 1

Tensor with_height(const Call& c) {
  const Tensor& x = c.tensor(0);
  INGOT_REQUIRE(x.dim() == 2 || x.dim() == 3, c.op.schema.name, "() Expected 2D or 3D input tensor, but got ", x.sizes());
  return x.unsqueeze(-2);
}
Value planar(const Value& v, int64_t height) {
  const Shape& s = v.ints();
  if (s.empty()) return v;
  INGOT_REQUIRE(s.dim() == 1, "expected one value for a pooling of one dim, found ", s);
  return Shape{height, s[0]};
}
TensorList max_pool1d_both(const Call& c) {
  const TensorList r =
      atens<"max_pool2d_with_indices">(with_height(c), planar(c[1], 1), planar(c[2], 1), planar(c[3], 0), planar(c[4], 1), c[5]);
  return {r[0].squeeze(-2), r[1].squeeze(-2)};
}

constexpr OpDef kPoolOps[] = {
    {.schema =
         "aten::max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool "
         "ceil_mode=False) -> (Tensor, Tensor)",
     .meta = rule_for<max_pool_meta, 2>,
     .kernel = rule_for<max_pool_kernel, 2>,
     .vjp = max_pool_vjp<2>,
     .saves = {{0}, {kResult - 1}},
     .lower = max_pool_lower<2>,
     .batch = batch_samples<3>},
    {.schema =
         "aten::max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, int[2] "
         "dilation, bool ceil_mode, Tensor indices) -> Tensor",
     .meta = rule_for<max_pool_backward_meta, 2>,
     .kernel = rule_for<max_pool_backward_kernel, 2>,
     .vjp = maxima_backward_vjp<2, 7>,
     .saves = {{7}},
     .batch = batch_samples<3>},
    {.schema =
         "aten::max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool "
         "ceil_mode=False) -> (Tensor, Tensor)",
     .meta = rule_for<max_pool_meta, 3>,
     .kernel = rule_for<max_pool_kernel, 3>,
     .vjp = max_pool_vjp<3>,
     .saves = {{0}, {kResult - 1}},
     .lower = max_pool_lower<3>,
     .batch = batch_samples<4>},
    {.schema =
         "aten::max_pool3d_with_indices_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, int[3] "
         "dilation, bool ceil_mode, Tensor indices) -> Tensor",
     .meta = rule_for<max_pool_backward_meta, 3>,
     .kernel = rule_for<max_pool_backward_kernel, 3>,
     .vjp = maxima_backward_vjp<3, 7>,
     .saves = {{7}},
     .batch = batch_samples<4>},
    {.schema = "aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, bool "
               "count_include_pad=True, int? divisor_override=None) -> Tensor",
     .meta = rule_for<avg_pool_meta, 2>,
     .kernel = rule_for<avg_pool_kernel, 2>,
     .vjp = avg_pool_vjp<2>,
     .saves = {{0}},
     .lower = avg_pool_lower<2>,
     .batch = batch_samples<3>},
    {.schema =
         "aten::avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, bool ceil_mode, bool "
         "count_include_pad, int? divisor_override) -> Tensor",
     .meta = rule_for<avg_pool_backward_meta, 2>,
     .kernel = rule_for<avg_pool_backward_kernel, 2>,
     .vjp = avg_pool_backward_vjp<2>,
     .batch = batch_samples<3>},
    {.schema = "aten::avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool ceil_mode=False, bool "
               "count_include_pad=True, int? divisor_override=None) -> Tensor",
     .meta = rule_for<avg_pool_meta, 3>,
     .kernel = rule_for<avg_pool_kernel, 3>,
     .vjp = avg_pool_vjp<3>,
     .saves = {{0}},
     .autocast = Autocast::float32,
     .lower = avg_pool_lower<3>,
     .batch = batch_samples<4>},
    {.schema =
         "aten::avg_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, bool ceil_mode, bool "
         "count_include_pad, int? divisor_override) -> Tensor",
     .meta = rule_for<avg_pool_backward_meta, 3>,
     .kernel = rule_for<avg_pool_backward_kernel, 3>,
     .vjp = avg_pool_backward_vjp<3>,
     .batch = batch_samples<4>},
    composite(
        "aten::max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> "
        "Tensor",
        [](const Call& c) -> Value { return max_pool1d_both(c)[0]; }),
    composite(
        "aten::max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1], bool "
        "ceil_mode=False) -> (Tensor, Tensor)",
        [](const Call& c) -> Value { return max_pool1d_both(c); }),
    composite(
        "aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> "
        "Tensor",
        [](const Call& c) -> Value { return atens<"max_pool2d_with_indices">(c[0], c[1], c[2], c[3], c[4], c[5])[0]; }),
    in_float32(composite(
        "aten::max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> "
        "Tensor",
        [](const Call& c) -> Value { return atens<"max_pool3d_with_indices">(c[0], c[1], c[2], c[3], c[4], c[5])[0]; })),
    composite(
        "aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool ceil_mode=False, bool "
        "count_include_pad=True) -> Tensor",
        [](const Call& c) -> Value {
          return aten<"avg_pool2d">(with_height(c), planar(c[1], 1), planar(c[2], 1), planar(c[3], 0), c[4], c[5]).squeeze(-2);
        }),
};

}  // namespace

INGOT_FAMILY(pool, kPoolOps)

}  // namespace ingot
