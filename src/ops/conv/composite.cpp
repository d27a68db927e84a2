// The convolutions users call, as programs of aten::convolution; and unfold / fold (im2col,
// col2im), its gathering alone.
#include "base/error.hpp"
#include "base/parallel.hpp"
#include "ingot/ingot.hpp"
#include "kernels/convolution.hpp"
#include "op/call.hpp"
#include "ingot/op/vjp.hpp"
#include "ops/common/autocast_policy.hpp"
#include "ops/batch/rules.hpp"
#include "ops/common/dense.hpp"
#include "ops/common/composite.hpp"
#include "ops/family.hpp"

namespace ingot {
namespace {

// The input with a batch dim, and whether one was added.
std::pair<Tensor, bool> batched(const Call& c, int space) {
  const Tensor& x = c.tensor(0);
  INGOT_REQUIRE(x.dim() == space + 1 || x.dim() == space + 2, "Expected ", space + 1, "D (unbatched) or ", space + 2,
                "D (batched) input to ", c.op.schema.name, ", but got input of size: ", x.sizes());
  return {x.dim() == space + 1 ? x.unsqueeze(0) : x, x.dim() == space + 1};
}
Value unbatched(const Tensor& y, bool added) { return added ? y.squeeze(0) : y; }

template <int Space>
Value conv_body(const Call& c) {  // input, weight, bias, stride, padding, dilation, groups
  const auto [x, added] = batched(c, Space);
  return unbatched(aten<"convolution">(x, c[1], c[2], c[3], c[4], c[5], false, Shape::filled(Space, 0), c[6]), added);
}
template <int Space>
Value conv_padding_body(const Call& c) {
  const auto [x, added] = batched(c, Space);
  return unbatched(aten<"_convolution_mode">(x, c[1], c[2], c[3], c[4], c[5], c[6]), added);
}
template <int Space>
Value conv_transpose_body(const Call& c) {  // input, weight, bias, stride, padding, output_padding, groups, dilation
  const auto [x, added] = batched(c, Space);
  return unbatched(aten<"convolution">(x, c[1], c[2], c[3], c[4], c[7], true, c[5], c[6]), added);
}

Value convolution_mode_body(const Call& c) {  // input, weight, bias, stride, padding, dilation, groups
  Tensor x = c.tensor(0);
  const Tensor& w = c.tensor(1);
  const std::string& mode = c[4].string();
  INGOT_REQUIRE(mode == "same" || mode == "valid", "Invalid padding string: '", mode, "'");
  const int space = static_cast<int>(w.dim()) - 2;
  INGOT_REQUIRE(space >= 1, "weight should have at least three dimensions, found ", w.sizes());
  Shape padding = Shape::filled(static_cast<std::size_t>(space), 0);
  if (mode == "same") {
    for (Int s : c[3].ints()) INGOT_REQUIRE(s == 1, "padding='same' is not supported for strided convolutions");
    const Shape& dilation = c[5].ints();
    Shape extra;  // what is missing on the right of each dim, last dim first
    bool uneven = false;
    for (int i = space - 1; i >= 0; i--) {
      const Int total = dilation[dilation.dim() == 1 ? 0 : i] * (w.size(i + 2) - 1), left = floor_div(total, 2);
      padding[i] = left;
      extra.push_back(0);
      extra.push_back(total - left - left);
      if (!(extra.back() == 0)) uneven = true;
    }
    if (uneven) x = aten<"constant_pad_nd">(x, extra);
  }
  return aten<"convolution">(x, w, c[2], c[3], padding, c[5], false, Shape::filled(static_cast<std::size_t>(space), 0), c[6]);
}

Value plain_convolution_body(const Call& c) { return aten<"convolution">(c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8]); }

// ---- conv_tbc: time, batch, channels
Value conv_tbc_body(const Call& c) {
  const Tensor &x = c.tensor(0), &w = c.tensor(1), &b = c.tensor(2);
  INGOT_REQUIRE(x.dim() == 3, "Input must have 3 dims: time, batch, in_channel, found ", x.sizes());
  INGOT_REQUIRE(w.dim() == 3, "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels, found ", w.sizes());
  INGOT_REQUIRE(b.dim() == 1, "Bias must be 1-D, found ", b.sizes());
  return aten<"convolution">(x.permute({1, 2, 0}), w.permute({2, 1, 0}), b, Shape{1}, Shape{c[3].to_int()}, Shape{1}, false,
                             Shape{0}, 1)
      .permute({2, 0, 1})
      .contiguous();
}
Value conv_tbc_backward_body(const Call& c) {  // grad, input, weight, bias, pad
  const TensorList g = atens<"convolution_backward">(
      c.tensor(0).permute({1, 2, 0}), c.tensor(1).permute({1, 2, 0}), c.tensor(2).permute({2, 1, 0}), c.tensor(3).sizes(),
      Shape{1}, Shape{c[4].to_int()}, Shape{1}, false, Shape{0}, 1, std::vector<bool>{true, true, true});
  return TensorList{g[0].permute({2, 0, 1}), g[1].permute({2, 1, 0}), g[2]};
}

// ---- im2col and col2im
struct Windows {
  kernels::Convolution c;  // of one channel
  int64_t columns;
};
Shape pair_of(const Value& v, std::string_view name, std::string_view op) {
  const Shape& s = v.ints();
  INGOT_REQUIRE(s.dim() == 2 || s.dim() == 1, op, ": expected ", name, " to have 2 values, found ", s);
  return s.dim() == 2 ? s : Shape{s[0], s[0]};
}
// Number of windows along each dim of space.
Shape window_counts(const Shape& space, const Shape& kernel, const Shape& dilation, const Shape& padding, const Shape& stride,
                    std::string_view op) {
  Shape n;
  for (int i = 0; i < 2; i++) {
    INGOT_REQUIRE(kernel[i] > 0 && dilation[i] > 0 && stride[i] > 0 && !(padding[i] < 0), op,
                  ": kernel size, dilation and stride should be "
                  "greater than zero and padding not negative, found kernel_size ",
                  kernel, ", dilation ", dilation, ", padding ", padding, ", stride ", stride);
    const Int count = floor_div(space[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1, stride[i]) + 1;
    INGOT_REQUIRE(count > 0, op, ": Given spatial size ", space, ", kernel_size ", kernel, ", dilation ", dilation, ", padding ",
                  padding, ", stride ", stride, ", calculated shape of the array of sliding blocks is too small (non-positive)");
    n.push_back(count);
  }
  return n;
}
// kernel_size, dilation, padding, stride stand at `at`.
struct WindowArgs {
  Shape kernel, dilation, padding, stride;
  WindowArgs(const Call& c, int at)
      : kernel(pair_of(c[at], "kernel_size", c.op.schema.name)), dilation(pair_of(c[at + 1], "dilation", c.op.schema.name)),
        padding(pair_of(c[at + 2], "padding", c.op.schema.name)), stride(pair_of(c[at + 3], "stride", c.op.schema.name)) {}
};
Windows windows_of(const WindowArgs& a, const Shape& space, std::string_view op) {
  Windows w{};
  w.c.dims = 2;
  w.c.batch = w.c.groups = w.c.in_channels = w.c.out_channels = 1;
  const Shape counts = window_counts(space, a.kernel, a.dilation, a.padding, a.stride, op);
  for (int i = 0; i < 2; i++) {
    w.c.in[i] = space[i].value();
    w.c.out[i] = counts[i].value();
    w.c.kernel[i] = a.kernel[i].value();
    w.c.stride[i] = a.stride[i].value();
    w.c.padding[i] = a.padding[i].value();
    w.c.dilation[i] = a.dilation[i].value();
  }
  w.columns = w.c.out[0] * w.c.out[1];
  return w;
}

void im2col_meta(const Call& c, Outputs& o) {
  const Tensor& x = c.tensor(0);
  INGOT_REQUIRE(x.dim() == 3 || x.dim() == 4, "im2col: Expected 3D or 4D (batch mode) tensor, got: ", x.sizes());
  const WindowArgs a(c, 1);
  Shape sizes = x.dim() == 4 ? Shape{x.size(0)} : Shape{};
  sizes.push_back(x.size(-3) * a.kernel.product());
  sizes.push_back(window_counts({x.size(-2), x.size(-1)}, a.kernel, a.dilation, a.padding, a.stride, "im2col").product());
  o.add(std::move(sizes), x.dtype());
}
// f(result, source) for real tensors; a complex one is its two parts. Integers go through double.
template <class F>
void on_parts(const Tensor& result, const Tensor& source, const F& f) {
  if (!is_complex(result.dtype())) return f(result, source);
  for (int k : {0, 1}) f(component(result, k), component(source, k));
}
void gather_windows(const Call& c, const Tensor& result, const Tensor& source) {
  const DType t = is_floating(result.dtype()) ? kernel_dtype(result.dtype()) : DType::f64;
  on_floating(t, "im2col", [&]<class T>(T) {
    const DenseResult out(result, t);
    const Tensor x = dense(source, t);
    const Windows w = windows_of(WindowArgs(c, 1), {x.size(-2), x.size(-1)}, "im2col");
    const int64_t planes = x.numel().value() / std::max<int64_t>(1, w.c.in[0] * w.c.in[1]), taps = w.c.kernel[0] * w.c.kernel[1];
    parallel_for(0, planes, 1, [&](int64_t begin, int64_t end) {
      kernels::gather_columns(w.c, x.data<T>() + begin * w.c.in[0] * w.c.in[1], end - begin, 0, w.columns,
                              out.data<T>() + begin * taps * w.columns);
    });
    out.finish();
  });
}
void col2im_meta(const Call& c, Outputs& o) {  // self, output_size, kernel_size, dilation, padding, stride
  const Tensor& x = c.tensor(0);
  INGOT_REQUIRE(x.dim() == 2 || x.dim() == 3,
                "col2im: Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size, got: ", x.sizes());
  const WindowArgs a(c, 2);
  const Shape space = pair_of(c[1], "output_size", "col2im");
  const Int taps = a.kernel.product(),
            columns = window_counts(space, a.kernel, a.dilation, a.padding, a.stride, "col2im").product();
  INGOT_REQUIRE(mod(x.size(-2), taps) == 0,
                "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
                "input.size(1)=",
                x.size(-2), " and kernel_size=", a.kernel);
  INGOT_REQUIRE(x.size(-1) == columns, "Given output_size=", space, ", kernel_size=", a.kernel, ", dilation=", a.dilation,
                ", padding=", a.padding, ", stride=", a.stride,
                ", expected size of input's dimension 2 to match the calculated number of sliding blocks ", columns,
                ", but got input.size(2)=", x.size(-1));
  Shape sizes = x.dim() == 3 ? Shape{x.size(0)} : Shape{};
  sizes.push_back(floor_div(x.size(-2), taps));
  sizes.push_back(space[0]);
  sizes.push_back(space[1]);
  o.add(std::move(sizes), x.dtype());
}
void scatter_windows(const Call& c, const Tensor& result, const Tensor& source) {
  const DType t = is_floating(result.dtype()) ? kernel_dtype(result.dtype()) : DType::f64;
  on_floating(t, "col2im", [&]<class T>(T) {
    const DenseResult out(result, t);
    const Tensor x = dense(source, t);
    const Windows w = windows_of(WindowArgs(c, 2), {result.size(-2), result.size(-1)}, "col2im");
    const int64_t plane = w.c.in[0] * w.c.in[1], planes = out.buffer().numel().value() / std::max<int64_t>(1, plane);
    const int64_t taps = w.c.kernel[0] * w.c.kernel[1];
    fill_elements(out.buffer(), 0);
    parallel_for(0, planes, 1, [&](int64_t begin, int64_t end) {
      kernels::scatter_columns(w.c, x.data<T>() + begin * taps * w.columns, end - begin, out.data<T>() + begin * plane);
    });
    out.finish();
  });
}

constexpr OpDef kConvCompositeOps[] = {
    in_lower_precision(composite(
        "aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] padding=[0], SymInt[1] dilation=[1], "
        "SymInt groups=1) -> Tensor",
        conv_body<1>)),
    in_lower_precision(composite(
        "aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] "
        "dilation=[1, 1], SymInt groups=1) -> Tensor",
        conv_body<2>)),
    in_lower_precision(composite(
        "aten::conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] "
        "dilation=[1, 1, 1], SymInt groups=1) -> Tensor",
        conv_body<3>)),
    in_lower_precision(composite(
        "aten::conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], str padding=\"valid\", SymInt[1] "
        "dilation=[1], SymInt groups=1) -> Tensor",
        conv_padding_body<1>)),
    in_lower_precision(composite(
        "aten::conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], str padding=\"valid\", SymInt[2] "
        "dilation=[1, 1], SymInt groups=1) -> Tensor",
        conv_padding_body<2>)),
    in_lower_precision(composite(
        "aten::conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], str padding=\"valid\", SymInt[3] "
        "dilation=[1, 1, 1], SymInt groups=1) -> Tensor",
        conv_padding_body<3>)),
    in_lower_precision(composite(
        "aten::conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] padding=[0], SymInt[1] "
        "output_padding=[0], SymInt groups=1, SymInt[1] dilation=[1]) -> Tensor",
        conv_transpose_body<1>)),
    in_lower_precision(composite(
        "aten::conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], "
        "SymInt[2] output_padding=[0, 0], SymInt groups=1, SymInt[2] dilation=[1, 1]) -> Tensor",
        conv_transpose_body<2>)),
    in_lower_precision(composite(
        "aten::conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], "
        "SymInt[3] output_padding=[0, 0, 0], SymInt groups=1, SymInt[3] dilation=[1, 1, 1]) -> Tensor",
        conv_transpose_body<3>)),
    composite(
        "aten::_convolution_mode(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, str padding, SymInt[] dilation, SymInt groups) -> "
        "Tensor",
        convolution_mode_body),
    composite(
        "aten::_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, "
        "SymInt[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor",
        plain_convolution_body),
    in_lower_precision(composite(
        "aten::_convolution.deprecated(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool "
        "transposed, int[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled) -> Tensor",
        plain_convolution_body)),
    {.schema = "aten::conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor",
     .body = conv_tbc_body,
     .vjp =
         [](Vjp& v) {
           const TensorList g = atens<"conv_tbc_backward">(v.grad(), v.saved(0), v.saved(1), v.saved(2), v.arg(3));
           for (int i = 0; i < 3; i++)
             if (v.need(i)) v.set(i, g[static_cast<std::size_t>(i)]);
         },
     .saves = {{0}, {1}, {2}},
     .autocast = Autocast::lower_precision},
    composite(
        "aten::conv_tbc_backward(Tensor self, Tensor input, Tensor weight, Tensor bias, int pad) -> (Tensor, Tensor, Tensor)",
        conv_tbc_backward_body),
    {.schema = "aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
     .meta = im2col_meta,
     .kernel =
         [](const Call& c, std::span<const Tensor> r) {
           on_parts(r[0], c.tensor(0), [&](const Tensor& to, const Tensor& x) { gather_windows(c, to, x); });
         },
     .vjp =
         [](Vjp& v) {
           const Shape& s = v.sizes(0);
           v.set(0, aten<"col2im">(v.grad(), s.sub(s.size() - 2, s.size()), v.arg(1), v.arg(2), v.arg(3), v.arg(4)));
         },
     .batch = batch_samples<3>},
    {.schema =
         "aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
     .meta = col2im_meta,
     .kernel =
         [](const Call& c, std::span<const Tensor> r) {
           on_parts(r[0], c.tensor(0), [&](const Tensor& to, const Tensor& x) { scatter_windows(c, to, x); });
         },
     .vjp = [](Vjp& v) { v.set(0, aten<"im2col">(v.grad(), v.arg(2), v.arg(3), v.arg(4), v.arg(5))); },
     .batch = batch_samples<2>},
};

}  // namespace

INGOT_FAMILY(conv_composite, kConvCompositeOps)

}  // namespace ingot
