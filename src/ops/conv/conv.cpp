// Convolution and its gradients. Everything else of the family (conv1d … conv_transpose3d, string
// padding) is a program of these two ops: composite.cpp.
#include <functional>
#include <numeric>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "ingot/ingot.hpp"
#include "kernels/convolution.hpp"
#include "op/call.hpp"
#include "ingot/op/vjp.hpp"
#include "ops/batch/rules.hpp"
#include "ops/conv/conv.hpp"
#include "ops/common/dense.hpp"
#include "ops/family.hpp"
#include "ops/common/gradient_terms.hpp"
#include "ops/common/kept_small.hpp"
#include "ops/common/stays_eager.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

Shape per_dim(const Value& v, int space, std::string_view name) {
  const Shape& s = v.ints();
  INGOT_REQUIRE(s.dim() == space || s.dim() == 1, "expected ", name, " to be a single integer value or a list of ", space,
                " values to match the convolution dimensions, but got ", name, "=", s);
  return s.dim() == space ? s : Shape::filled(static_cast<std::size_t>(space), s[0]);
}

}  // namespace

ConvolutionParams convolution_params(const Call& c, const Tensor& input, const Tensor& weight, int at) {
  const int space = static_cast<int>(weight.dim()) - 2;
  INGOT_REQUIRE(space >= 1 && space <= 3, "weight should have 3 to 5 dimensions, found ", weight.sizes());
  INGOT_REQUIRE(input.dim() == weight.dim(), "Expected ", weight.dim(), "-dimensional input for ", weight.dim(),
                "-dimensional weight ", weight.sizes(), ", but got ", input.dim(), "-dimensional input of size ", input.sizes(),
                " instead");
  ConvolutionParams p{space,
                      per_dim(c[at], space, "stride"),
                      per_dim(c[at + 1], space, "padding"),
                      per_dim(c[at + 2], space, "dilation"),
                      per_dim(c[at + 4], space, "output_padding"),
                      c[at + 3].to_bool(),
                      c[at + 5].to_int()};
  INGOT_REQUIRE(p.groups > 0, "non-positive groups is not supported");
  for (int i = 0; i < space; i++) {
    INGOT_REQUIRE(p.stride[i] > 0, "non-positive stride is not supported");
    INGOT_REQUIRE(!(p.padding[i] < 0), "negative padding is not supported");
    INGOT_REQUIRE(!(p.output_padding[i] < 0), "negative output_padding is not supported");
    INGOT_REQUIRE(p.dilation[i] > 0, "dilation should be greater than zero");
  }
  return p;
}

namespace {

Shape output_sizes(const ConvolutionParams& p, const Tensor& input, const Tensor& weight) {
  const Int channels = input.size(1), expected = p.transposed ? weight.size(0) : weight.size(1) * p.groups;
  INGOT_REQUIRE(channels == expected, "Given ", p.transposed ? "transposed=1" : text("groups=", p.groups), ", weight of size ",
                weight.sizes(), ", expected input", input.sizes(), " to have ", expected, " channels, but got ", channels,
                " channels instead");
  INGOT_REQUIRE(p.groups == 1 || mod(weight.size(0), p.groups) == 0, "Given groups=", p.groups,
                ", expected weight to be divisible by ", p.groups, " at dimension 0, but got weight of size ", weight.sizes(),
                " instead");
  Shape sizes{input.size(0), p.transposed ? weight.size(1) * p.groups : weight.size(0)};
  for (int i = 0; i < p.space; i++) {
    const Int in = input.size(i + 2), reach = p.dilation[i] * (weight.size(i + 2) - 1) + 1;
    if (p.transposed) {
      const Int n = (in - 1) * p.stride[i] - 2 * p.padding[i] + reach + p.output_padding[i];
      INGOT_REQUIRE(p.output_padding[i] < p.stride[i] || p.output_padding[i] < p.dilation[i],
                    "output padding must be smaller than either stride or dilation, but got output_padding ", p.output_padding,
                    ", stride ", p.stride, ", dilation ", p.dilation);
      INGOT_REQUIRE(!(n < 0), "Given input size per channel ", input.sizes(), ". Calculated output size is too small at dim ",
                    i + 2, ": ", n);
      sizes.push_back(n);
    } else {
      const Int padded = in + 2 * p.padding[i];
      INGOT_REQUIRE(reach <= padded, "Calculated padded input size per channel: (", padded, "). Kernel size: (", reach,
                    "). Kernel size can't be greater than actual input size");
      sizes.push_back(floor_div(padded - reach, p.stride[i]) + 1);
    }
  }
  return sizes;
}

// ATen's rule: channels last if the input or the weight says so (not for double in three
// dimensions).
MemoryFormat format_of(const Tensor& input, const Tensor& weight) {
  const MemoryFormat last = weight.dim() == 4 ? MemoryFormat::channels_last : MemoryFormat::channels_last_3d;
  if (weight.dim() == 3 || (weight.dim() == 5 && input.dtype() == DType::f64)) return MemoryFormat::contiguous;
  for (const Tensor* t : {&input, &weight})
    if (suggest_memory_format(t->sizes(), t->strides()) == last) return last;
  return MemoryFormat::contiguous;
}
Geometry formatted(const Shape& sizes, DType dtype, MemoryFormat format) {
  Geometry g;
  g.sizes = sizes;
  g.strides = strides_for(sizes, format);
  g.dtype = dtype;
  return g;
}

// ---- eager

enum class Part : uint8_t { forward, input, weight };

template <class T>
void run_part(Part part, const kernels::Convolution& c, const T* a, const T* b, const T* bias, T* out) {
  auto split = [&](int64_t tasks, int64_t scratch_bytes, const auto& f) {
    parallel_for(0, tasks, 1, [&](int64_t begin, int64_t end) {
      const Scratch scratch(scratch_bytes);
      f(begin, end, scratch.get());
    });
  };
  switch (part) {
    case Part::forward:  // x, w -> y
      return split(kernels::convolution_forward_tasks(c), kernels::convolution_forward_scratch_bytes<T>(c),
                   [&](int64_t begin, int64_t end, void* s) { kernels::convolution_forward(c, a, b, bias, out, begin, end, s); });
    case Part::input:  // gy, w -> gx
      return split(
          kernels::convolution_backward_input_tasks(c), kernels::convolution_backward_input_scratch_bytes<T>(c),
          [&](int64_t begin, int64_t end, void* s) { kernels::convolution_backward_input(c, a, b, bias, out, begin, end, s); });
    case Part::weight:  // gy, x -> gw
      return split(
          kernels::convolution_backward_weight_tasks(c), kernels::convolution_backward_weight_scratch_bytes<T>(c),
          [&](int64_t begin, int64_t end, void* s) { kernels::convolution_backward_weight(c, a, b, out, begin, end, s); });
  }
}

void convolve(Part part, const kernels::Convolution& c, const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& bias) {
  if (is_complex(out.dtype())) {
    for (int k : {0, 1}) {  // (a0 + a1 i) (b0 + b1 i), its real, then its imaginary part
      const Geometry g = Geometry::contiguous(out.sizes(), DType::f64);
      const Tensor x = make_tensor(g), y = make_tensor(g);
      convolve(part, c, x, component(a, 0), component(b, k), bias.defined() ? component(bias, k) : bias);
      convolve(part, c, y, component(a, 1), component(b, 1 - k), {});
      const int64_t n = x.numel().value();
      for (int64_t i = 0; i < n; i++) x.data<double>()[i] += k ? y.data<double>()[i] : -y.data<double>()[i];
      copy_elements(component(out, k), x);
    }
    return;
  }
  // Integers through double: exact up to 2^53. Float too where it costs next to nothing: sums of
  // hundreds of products that cancel keep their digits, and no order of summation has to be agreed
  // on.
  constexpr int64_t kCheap = 1 << 16;
  const bool cheap = out.dtype() == DType::f32 && (a.numel() + b.numel() + out.numel()).value() <= kCheap;
  const DType t = is_integral(out.dtype()) || cheap ? DType::f64 : kernel_dtype(out.dtype());
  const DenseResult result(out, t);
  const Tensor x = dense(a, t), y = dense(b, t), z = bias.defined() ? dense(bias, t) : bias;
  if (out.numel() == 0) return;
  if (x.numel() == 0 || y.numel() == 0) {
    fill_elements(out, 0);
    if (bias.defined()) {
      Geometry g = bias->geom;
      for (int i = 0; i < c.dims; i++) g.sizes.push_back(1), g.strides.push_back(0);
      copy_elements(out, make_alias(bias, std::move(g)));
    }
    return;
  }
  on_floating(t, "convolution", [&]<class T>(T) {
    run_part<T>(part, c, x.data<T>(), y.data<T>(), z.defined() ? z.data<T>() : nullptr, result.data<T>());
  });
  result.finish();
}

// The ordinary convolution behind the call: a transposed one is that of its output, run backwards.
kernels::Convolution describe(const ConvolutionParams& p, const Shape& x, const Shape& w, const Shape& y) {
  kernels::Convolution c{};
  c.dims = p.space;
  c.batch = x[0].value();
  c.groups = p.groups.value();
  c.in_channels = x[1].value();
  c.out_channels = y[1].value();
  for (int i = 0; i < p.space; i++) {
    c.in[i] = x[i + 2].value();
    c.out[i] = y[i + 2].value();
    c.kernel[i] = w[i + 2].value();
    c.stride[i] = p.stride[i].value();
    c.padding[i] = p.padding[i].value();
    c.dilation[i] = p.dilation[i].value();
  }
  return c;
}

// PyTorch has another kernel for transposed convolutions whose output padding reaches a stride,
// which keeps half types half: columns, the sums of columns, and the weight's gradient from one
// sample to the next.
bool rounds_every_step(const ConvolutionParams& p, DType t) {
  bool reaches = false;
  for (int i = 0; i < p.space; i++) reaches = reaches || p.output_padding[i] >= p.stride[i];
  return p.transposed && reaches && is_reduced_floating(t);
}
int64_t product(const int64_t* sizes, int count) {
  return std::accumulate(sizes, sizes + count, int64_t{1}, std::multiplies<>());
}

// `c` is the ordinary convolution: its input is our output.
void transpose_step_by_step(const kernels::Convolution& c, const Tensor& out, const Tensor& input, const Tensor& weight,
                            const Tensor& bias) {
  on_kept_small(out.dtype(), "convolution", [&]<class T, class A>(T, A) {
    const DType t = kernel_dtype(out.dtype());
    const DenseResult result(out, t);
    const Tensor x = dense(input, t), w = dense(weight, t), b = bias.defined() ? dense(bias, t) : bias;
    const int64_t taps = product(c.kernel, c.dims), from = product(c.out, c.dims), to = product(c.in, c.dims);
    const int64_t in = c.out_channels / c.groups, each = c.in_channels / c.groups;  // channels of a group, ours
    std::vector<A> columns(static_cast<std::size_t>(each * taps * from)), sums(static_cast<std::size_t>(each * to));
    for (int64_t part = 0; part < c.batch * c.groups; part++) {
      const int64_t group = part % c.groups;
      const T *xs = x.data<T>() + part * in * from, *ws = w.data<T>() + group * in * each * taps;
      for (int64_t row = 0; row < each * taps; row++)
        for (int64_t at = 0; at < from; at++) {
          T sum = 0;
          for (int64_t k = 0; k < in; k++) sum += ws[k * each * taps + row] * xs[k * from + at];
          columns[static_cast<std::size_t>(row * from + at)] = A(sum);
        }
      std::fill(sums.begin(), sums.end(), A(0));
      kernels::scatter_columns(c, columns.data(), each, sums.data());
      T* y = result.data<T>() + part * each * to;
      for (int64_t i = 0; i < each * to; i++) {
        const A sum = sums[static_cast<std::size_t>(i)];
        y[i] = T(b.defined() ? sum + A(b.data<T>()[group * each + i / to]) : sum);
      }
    }
    result.finish();
  });
}
void weight_step_by_step(const kernels::Convolution& c, const Tensor& out, const Tensor& input, const Tensor& grad) {
  on_kept_small(out.dtype(), "convolution", [&]<class T, class A>(T, A) {
    const DType t = kernel_dtype(out.dtype());
    const DenseResult result(out, t);
    const Tensor x = dense(input, t), g = dense(grad, t);
    kernels::Convolution one = c;
    one.batch = 1;
    std::vector<T> part(static_cast<std::size_t>(out.numel().value()));
    std::fill_n(result.data<T>(), part.size(), T(0));
    for (int64_t n = 0; n < c.batch; n++) {
      run_part<T>(Part::weight, one, x.data<T>() + n * x.numel().value() / c.batch, g.data<T>() + n * g.numel().value() / c.batch,
                  nullptr, part.data());
      for (std::size_t i = 0; i < part.size(); i++) result.data<T>()[i] = T(A(result.data<T>()[i] + part[i]));
    }
    result.finish();
  });
}

void convolution_meta(const Call& c, Outputs& o) {
  const Tensor &input = c.tensor(0), &weight = c.tensor(1);
  const ConvolutionParams p = convolution_params(c, input, weight, 3);
  INGOT_REQUIRE(input.dtype() == weight.dtype(), "Input type (", name_of(input.dtype()), ") and weight type (",
                name_of(weight.dtype()), ") should be the same");
  INGOT_REQUIRE(input.dtype() != DType::b8, "\"convolution\" not implemented for 'Bool'");
  const Shape sizes = output_sizes(p, input, weight);
  if (c[2].is_tensor()) {
    const Tensor& bias = c.tensor(2);
    INGOT_REQUIRE(bias.dim() == 1 && bias.size(0) == sizes[1], "Given ", p.transposed ? "transposed=1, " : "", "weight of size ",
                  weight.sizes(), ", expected bias to be 1-dimensional with ", sizes[1], " elements, but got bias of size ",
                  bias.sizes(), " instead");
    INGOT_REQUIRE(bias.dtype() == input.dtype(), "Input type (", name_of(input.dtype()), ") and bias type (",
                  name_of(bias.dtype()), ") should be the same");
  }
  o.add(formatted(sizes, input.dtype(), format_of(input, weight)));
}
void convolution_kernel(const Call& c, std::span<const Tensor> r) {
  const Tensor &input = c.tensor(0), &weight = c.tensor(1);
  const ConvolutionParams p = convolution_params(c, input, weight, 3);
  const Tensor bias = c[2].tensor_or_none();
  if (rounds_every_step(p, r[0].dtype()) && input.numel() > 0 && r[0].numel() > 0)
    transpose_step_by_step(describe(p, r[0].sizes(), weight.sizes(), input.sizes()), r[0], input, weight, bias);
  else if (p.transposed)
    convolve(Part::input, describe(p, r[0].sizes(), weight.sizes(), input.sizes()), r[0], input, weight, bias);
  else convolve(Part::forward, describe(p, input.sizes(), weight.sizes(), r[0].sizes()), r[0], input, weight, bias);
}
void convolution_vjp(Vjp& v) {
  // PyTorch's listing says [0] for a bias that is not there.
  const Shape bias_sizes = v.is_tensor(2) ? v.sizes(2) : Shape{0};
  const TensorList g =
      atens<"convolution_backward">(v.grad(), v.saved(0), v.saved(1), bias_sizes, v.arg(3), v.arg(4), v.arg(5), v.arg(6),
                                    v.arg(7), v.arg(8), std::vector<bool>{v.need(0), v.need(1), v.is_tensor(2) && v.need(2)});
  for (int i = 0; i < 3; i++)
    if (v.is_tensor(i) && v.need(i)) v.set(i, g[static_cast<std::size_t>(i)]);
}

// A result is None where output_mask says no, so the three are made here and not by one shape rule.
Value convolution_backward_body(const Call& c) {
  const Tensor &grad = c.tensor(0), &input = c.tensor(1), &weight = c.tensor(2);
  const ConvolutionParams p = convolution_params(c, input, weight, 4);
  const std::vector<bool>& mask = c[10].bools();
  INGOT_REQUIRE(mask.size() == 3, "convolution_backward: expected an output_mask of 3 entries, found ", mask.size());
  const Shape sizes = output_sizes(p, input, weight);
  INGOT_REQUIRE(grad.sizes() == sizes, "convolution_backward: expected grad_output of size ", sizes, ", found ", grad.sizes());
  const MemoryFormat format = format_of(input, weight);
  const bool fake = grad->is_fake() || input->is_fake() || weight->is_fake();
  TensorList out(3);
  if (mask[0]) out[0] = make_tensor(formatted(input.sizes(), input.dtype(), format), input.device(), fake);
  if (mask[1]) out[1] = make_tensor(formatted(weight.sizes(), weight.dtype(), format), input.device(), fake);
  if (mask[2]) {
    Shape dims{0};
    for (int i = 0; i < p.space; i++) dims.push_back(i + 2);
    out[2] = grad.sum(dims);
  }
  if (fake) return out;
  const kernels::Convolution k =
      p.transposed ? describe(p, sizes, weight.sizes(), input.sizes()) : describe(p, input.sizes(), weight.sizes(), sizes);
  if (mask[0]) convolve(p.transposed ? Part::forward : Part::input, k, out[0], grad, conjugate(weight), {});
  if (mask[1]) {
    const Tensor x = conjugate(input);
    if (rounds_every_step(p, out[1].dtype()) && input.numel() > 0 && grad.numel() > 0) weight_step_by_step(k, out[1], x, grad);
    else if (p.transposed) convolve(Part::weight, k, out[1], x, grad, {});
    else convolve(Part::weight, k, out[1], grad, x, {});
  }
  return out;
}
void convolution_backward_vjp(Vjp& v) {
  const TensorList g = atens<"_convolution_double_backward">(v.grad(0), v.grad(1), v.grad(2), v.saved(0), v.saved(2), v.saved(1),
                                                             v.arg(4), v.arg(5), v.arg(6), v.arg(7), v.arg(8), v.arg(9),
                                                             std::vector<bool>{v.need(0), v.need(1), v.need(2)});
  for (int i = 0; i < 3; i++)
    if (v.need(i)) v.set(i, g[static_cast<std::size_t>(i)]);
}

// <gO, conv(x, w) + b> is linear in each of gO, x and w: every second derivative is a convolution
// of the other two.
Value double_backward_body(const Call& c) {
  const Tensor ggx = c[0].tensor_or_none(), ggw = c[1].tensor_or_none(), ggb = c[2].tensor_or_none();
  const Tensor &grad = c.tensor(3), &weight = c.tensor(4), &input = c.tensor(5);
  const std::vector<bool>& mask = c[12].bools();
  auto conv = [&](const Tensor& x, const Tensor& w) {
    return aten<"convolution">(x, w, Value(), c[6], c[7], c[8], c[9], c[10], c[11]);
  };
  auto backward = [&](const Tensor& x, const Tensor& w, int k) {
    return atens<"convolution_backward">(grad, x, w, Shape{0}, c[6], c[7], c[8], c[9], c[10], c[11],
                                         std::vector<bool>{k == 0, k == 1, false})[static_cast<std::size_t>(k)];
  };
  TensorList out(3);
  if (mask[0]) {
    auto add = [&](const Tensor& t) { out[0] = out[0].defined() ? out[0] + t : t; };
    if (ggx.defined()) add(conv(ggx, weight));
    if (ggw.defined()) add(conv(input, ggw));
    if (ggb.defined()) {
      Shape s = Shape::filled(static_cast<std::size_t>(weight.dim()), 1);
      s[1] = -1;
      add(ggb.reshape(s).expand(grad.sizes()));
    }
  }
  if (mask[1] && ggw.defined()) out[1] = backward(input, ggw, 0);
  if (mask[2] && ggx.defined()) out[2] = backward(ggx, weight, 1);
  return out;
}

// ---- batching: (input, weight, bias, stride, padding, dilation, transposed, output_padding,
// groups) The batch joins the samples where members share the weight, else the channels: as groups
// where each member has an input of its own, as more output channels where all see one input.

Value batch_convolution(const Batching& b) {
  (void)b.member_results();
  const bool own_input = b.batched(0), own_weight = b.batched(1), transposed = b[6].to_bool();
  const Int groups = b[8].to_int();
  Values args = b.args;
  args[2] = b.batched(2) ? Value() : b[2];
  Tensor r;
  if (!own_weight) {
    args[0] = merge_dims(b.front(0), 0);
    r = split_dim(call(b.op, args).tensor(), 0, b.size, b.sizes(0)[0]);
  } else {
    const Shape weight = b.sizes(1);
    const Int out = transposed ? weight[1] * groups : weight[0], each = floor_div(out, groups);
    if (own_input) {
      args[0] = merge_dims(move_dim(b.tensor(0), 0, 1), 1);
      args[1] = merge_dims(b.tensor(1), 0);
      args[8] = groups * b.size;
      if (args[2].is_tensor()) args[2] = aten<"repeat">(args[2].tensor(), Shape{b.size});
      r = move_dim(split_dim(call(b.op, args).tensor(), 1, b.size, out), 1, 0);
    } else {
      // Of every group, the output channels of all members: [groups, batch, each].
      args[1] = transposed ? merge_dims(move_dim(b.tensor(1), 0, 1), 1)
                           : merge_dims(merge_dims(move_dim(split_dim(b.tensor(1), 1, groups, each), 0, 1), 0), 0);
      args[2] = Value();
      const Tensor all = split_dim(split_dim(call(b.op, args).tensor(), 1, groups, b.size * each), 2, b.size, each);
      r = merge_dims(move_dim(all, 2, 0), 2);
      if (b[2].is_tensor() && !b.batched(2)) {
        Shape column{out};
        for (int i = 2; i < weight.dim(); i++) column.push_back(1);
        r = r + aten<"reshape">(b.tensor(2), column);
      }
    }
  }
  if (!b.batched(2)) return r;
  Shape column{b.size, 1, b.sizes(2)[0]};
  while (column.dim() < r.dim()) column.push_back(1);
  return r + aten<"reshape">(b.tensor(2), column);
}

// (grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding,
// groups, output_mask)
Value batch_convolution_backward(const Batching& b) {
  (void)b.member_results();
  const std::vector<bool>& mask = b[10].bools();
  Values args = b.args;
  if (!b.batched(2) && !mask[1] && !mask[2]) {  // the input's gradient of all samples
    args[0] = merge_dims(b.front(0), 0);
    args[1] = merge_dims(b.front(1), 0);
    TensorList r = call(b.op, args).tensors();
    if (mask[0]) r[0] = split_dim(r[0], 0, b.size, b.sizes(1)[0]);
    return r;
  }
  // Members are groups of one convolution.
  args[0] = merge_dims(move_dim(b.front(0), 0, 1), 1);
  args[1] = merge_dims(move_dim(b.front(1), 0, 1), 1);
  args[2] = merge_dims(b.front(2), 0);
  if (b[3].is_ints() && b[3].ints().dim() == 1) args[3] = Shape{b[3].ints()[0] * b.size};
  args[9] = b[9].to_int() * b.size;
  TensorList r = call(b.op, args).tensors();
  if (mask[0]) r[0] = move_dim(split_dim(r[0], 1, b.size, b.sizes(1)[1]), 1, 0);
  if (mask[1]) r[1] = split_dim(r[1], 0, b.size, b.sizes(2)[0]);
  if (mask[2]) r[2] = split_dim(r[2], 0, b.size, b.sizes(0)[1]);
  return r;
}

constexpr OpDef kConvOps[] = {
    {.schema =
         "aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, "
         "SymInt[] output_padding, SymInt groups) -> Tensor",
     .meta = convolution_meta,
     .kernel = convolution_kernel,
     .vjp = convolution_vjp,
     .saves = {{0}, {1}},
     .lower = convolution_lower,
     .batch = batch_convolution},
    {.schema =
         "aten::convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] stride, SymInt[] padding, "
         "SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
     .body = convolution_backward_body,
     .vjp = convolution_backward_vjp,
     .saves = {{0}, {1}, {2}},
     .lower = stays_eager,
     .batch = batch_convolution_backward},
    {.schema =
         "aten::_convolution_double_backward(Tensor? ggI, Tensor? ggW, Tensor? ggb, Tensor gO, Tensor weight, Tensor self, SymInt[] stride, "
         "SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> (Tensor, "
         "Tensor, Tensor)",
     .form = Form::composite,
     .body = double_backward_body},
};

}  // namespace

INGOT_FAMILY(conv, kConvOps)

}  // namespace ingot
