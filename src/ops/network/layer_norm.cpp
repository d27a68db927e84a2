// Layer, group and RMS norm, and weight norm. Batch and instance norm are in batch_norm.cpp.
#include <limits>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ops/batch/rules.hpp"
#include "ops/family.hpp"
#include "ops/network/normalization.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

Tensor contiguous(const Tensor& t) { return t.defined() ? aten<"contiguous">(t) : t; }
// Dims [from, to)
Shape dim_range(int from, int to) {
  Shape s;
  for (int i = from; i < to; i++) s.push_back(i);
  return s;
}
Tensor gradient_or_none(bool wanted, const auto& compute) { return wanted ? compute() : Tensor(); }

// ---- layer norm

// The first normalised dim.
int check_normalized_shape(const Call& c, const Tensor& input, const Shape& shape, const Tensor& weight, const Tensor& bias) {
  const int n = shape.dim(), axis = static_cast<int>(input.dim()) - n;
  INGOT_REQUIRE(n >= 1, c.op.schema.name,
                ": Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but "
                "got normalized_shape = ",
                shape);
  for (const Tensor& p : {weight, bias})
    INGOT_REQUIRE(!p.defined() || p.sizes() == shape,
                  "Expected weight and bias to be of same shape as normalized_shape, but got a parameter of shape ", p.sizes(),
                  " and normalized_shape = ", shape);
  INGOT_REQUIRE(axis >= 0 && input.sizes().sub(static_cast<std::size_t>(axis), input.sizes().size()) == shape,
                "Given normalized_shape=", shape, ", expected input with shape [*, ", shape, "], but got input of size ",
                input.sizes());
  return axis;
}

Value native_layer_norm(const Call& c) {
  const Tensor &input = c.tensor(0), weight = c[2].tensor_or_none(), bias = c[3].tensor_or_none();
  const int axis = check_normalized_shape(c, input, c[1].ints(), weight, bias), rank = static_cast<int>(input.dim());
  const DType compute = statistics_type(input.dtype());
  const Tensor x = as_type(contiguous(input), compute);
  const Statistics s = statistics(x, dim_range(axis, rank), c[4].to_double());
  const Tensor y = normalized(x, s.mean, s.rstd, as_type(contiguous(weight), compute), as_type(contiguous(bias), compute));
  // Statistics of half inputs stay float when the parameters are float.
  const DType kept = weight.defined() && weight.dtype() != input.dtype() ? compute : input.dtype();
  return TensorList{as_type(y, input.dtype()), as_type(s.mean, kept), as_type(s.rstd, kept)};
}

// grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask
Value native_layer_norm_backward(const Call& c) {
  const Tensor &input = c.tensor(1), weight = c[5].tensor_or_none(), bias = c[6].tensor_or_none();
  const int axis = check_normalized_shape(c, input, c[2].ints(), weight, bias), rank = static_cast<int>(input.dim());
  const std::vector<bool>& mask = c[7].bools();
  const DType compute = statistics_type(input.dtype());
  const Tensor x = as_type(contiguous(input), compute), g = as_type(contiguous(c.tensor(0)), compute),
               w = as_type(contiguous(weight), compute);
  const Tensor rstd = as_type(c.tensor(4), compute), xhat = (x - as_type(c.tensor(3), compute)) * rstd;
  const Shape inner = dim_range(axis, rank), outer = dim_range(0, axis);
  auto over_rows = [&](const Tensor& t) { return axis > 0 ? aten<"sum.dim_IntList">(t, outer) : t; };
  return TensorList{
      gradient_or_none(
          mask[0], [&] { return as_type(normalization_gradient(w.defined() ? g * w : g, xhat, rstd, inner), input.dtype()); }),
      gradient_or_none(mask[1] && weight.defined(), [&] { return as_type(over_rows(g * xhat), weight.dtype()); }),
      gradient_or_none(mask[2] && bias.defined(),
                       [&] { return as_type(axis > 0 ? over_rows(g) : aten<"clone">(g), bias.dtype()); })};
}

std::vector<bool> wanted(const Vjp& v, std::initializer_list<int> args) {
  std::vector<bool> m;
  for (int i : args) m.push_back(v.need(i));
  return m;
}

void layer_norm_vjp(Vjp& v) {
  if (!v.grad(0).defined()) return;
  const TensorList g = atens<"native_layer_norm_backward">(v.grad(0), v.saved(0), v.arg(1), v.result(1), v.result(2), v.saved(2),
                                                           v.saved(3), wanted(v, {0, 2, 3}));
  v.set(0, g[0]);
  if (v.need(2)) v.set(2, g[1]);
  if (v.need(3)) v.set(3, g[2]);
}

void layer_norm_backward_vjp(Vjp& v) {
  not_implemented_for(v, 3, "native_layer_norm_backward mean");
  not_implemented_for(v, 4, "native_layer_norm_backward rstd");
  const Tensor g = v.saved(0), input = v.saved(1), rstd = v.saved(4), weight = v.saved(5);
  const int rank = static_cast<int>(input.dim()), axis = rank - v.arg(2).ints().dim();
  const Tensor xhat = (input - v.saved(3)) * rstd;
  const SecondOrder s =
      normalization_second_order(g, xhat, rstd, weight, v.grad(0), v.grad(1), v.grad(2), dim_range(axis, rank), false);
  if (v.need(0)) v.set(0, s.grad_out);
  if (v.need(1)) v.set(1, s.x);
  if (v.need(5)) v.set(5, s.weight);  // the engine sums it back to the parameter's shape
}

// ---- group norm: input (N, C, *), `group` groups of channels

struct Groups {
  Int n, channels, area;
  int64_t count;
  Shape split() const { return {n, count, floor_div(channels, count), area}; }  // channels apart, for the parameters
  Shape parameter() const { return {1, count, floor_div(channels, count), 1}; }
  Shape statistic() const { return {n, count, 1, 1}; }
};
Groups groups_of(const Call& c, int at, const Tensor& input, const Tensor& weight) {
  const Groups g{c[at].to_int(), c[at + 1].to_int(), c[at + 2].to_int(), c[at + 3].to_int64()};
  INGOT_REQUIRE(g.count > 0, c.op.schema.name, ": Expected num groups to be greater than 0, got ", g.count);
  INGOT_REQUIRE(mod(g.channels, g.count) == 0, c.op.schema.name,
                ": Expected number of channels in input to be divisible by num_groups, but got input of shape ", input.sizes(),
                " and num_groups=", g.count);
  INGOT_REQUIRE(input.numel() == g.n * g.channels * g.area, c.op.schema.name, ": input of shape ", input.sizes(),
                " does not have N * C * HxW = ", g.n * g.channels * g.area, " elements");
  INGOT_REQUIRE(!weight.defined() || (weight.dim() == 1 && weight.numel() == g.channels),
                "Expected weight to be a vector of size equal to the number "
                "of channels in input, but got weight of shape ",
                weight.sizes(), " and input of shape ", input.sizes());
  return g;
}
Tensor shaped(const Tensor& t, const Shape& s, DType dtype) { return t.defined() ? as_type(aten<"reshape">(t, s), dtype) : t; }
Shape group_dims() { return {2, 3}; }

Value native_group_norm(const Call& c) {
  const Tensor &input = c.tensor(0), weight = c[1].tensor_or_none(), bias = c[2].tensor_or_none();
  const Groups g = groups_of(c, 3, input, weight);
  const DType compute = statistics_type(input.dtype());
  const Tensor x = shaped(input, g.split(), compute);
  const Statistics s = statistics(x, group_dims(), c[7].to_double());
  Tensor y = normalized(x, s.mean, s.rstd, shaped(weight, g.parameter(), compute), shaped(bias, g.parameter(), compute));
  y = aten<"contiguous">(as_type(aten<"reshape">(y, input.sizes()), input.dtype()),
                         suggest_memory_format(input.sizes(), input.strides()));
  const DType kept = weight.defined() && weight.dtype() != input.dtype() ? compute : input.dtype();
  return TensorList{y, shaped(s.mean, {g.n, g.count}, kept), shaped(s.rstd, {g.n, g.count}, kept)};
}

// Gradients of input, weight and bias, those that the mask wants.
TensorList group_norm_gradients(const Groups& g, const Tensor& grad_out, const Tensor& input, const Tensor& mean,
                                const Tensor& saved_rstd, const Tensor& weight, const std::vector<bool>& mask) {
  const DType compute = statistics_type(input.dtype());
  const Tensor dy = shaped(grad_out, g.split(), compute), w = shaped(weight, g.parameter(), compute);
  const Tensor rstd = shaped(saved_rstd, g.statistic(), compute);
  const Tensor xhat = (shaped(input, g.split(), compute) - shaped(mean, g.statistic(), compute)) * rstd;
  auto per_channel = [&](const Tensor& t) {
    return as_type(aten<"reshape">(aten<"sum.dim_IntList">(t, Shape{0, 3}), Shape{g.channels}),
                   weight.defined() ? weight.dtype() : input.dtype());
  };
  return {gradient_or_none(mask[0],
                           [&] {
                             const Tensor dx = normalization_gradient(w.defined() ? dy * w : dy, xhat, rstd, group_dims());
                             return aten<"contiguous">(as_type(aten<"reshape">(dx, input.sizes()), input.dtype()),
                                                       suggest_memory_format(input.sizes(), input.strides()));
                           }),
          gradient_or_none(mask[1], [&] { return per_channel(dy * xhat); }),
          gradient_or_none(mask[2], [&] { return per_channel(dy); })};
}
// grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask
Value native_group_norm_backward(const Call& c) {
  const Tensor &input = c.tensor(1), weight = c[4].tensor_or_none();
  return group_norm_gradients(groups_of(c, 5, input, weight), c.tensor(0), input, c.tensor(2), c.tensor(3), weight, c[9].bools());
}
// What the gradients of mean and rstd give the input, which they are functions of.
Tensor gradient_through_statistics(const Groups& g, const Tensor& input, const Tensor& mean, const Tensor& rstd,
                                   const Tensor& grad_mean, const Tensor& grad_rstd) {
  const DType compute = statistics_type(input.dtype());
  const Tensor r = shaped(rstd, g.statistic(), compute);
  auto per_element = [&](const Tensor& t) { return aten<"div.Tensor">(t, floor_div(g.channels, g.count) * g.area); };
  Tensor total;
  if (grad_mean.defined()) total = per_element(shaped(grad_mean, g.statistic(), compute)).expand(g.split());
  if (grad_rstd.defined()) {
    const Tensor xhat = (shaped(input, g.split(), compute) - shaped(mean, g.statistic(), compute)) * r;
    const Tensor part = per_element(shaped(grad_rstd, g.statistic(), compute) * -(r * r)) * xhat;
    total = total.defined() ? total + part : part;
  }
  return as_type(aten<"reshape">(total, input.sizes()), input.dtype());
}

// native_group_norm_backward has no derivative of its own: where one may be asked for, its program
// is recorded instead, over the mean and rstd that the forward returned with their own history.
void group_norm_vjp(Vjp& v) {
  const Tensor input = v.saved(0), weight = v.saved(1);
  const std::vector<bool> mask = wanted(v, {0, 1, 2});
  const Groups g{v.arg(3).to_int(), v.arg(4).to_int(), v.arg(5).to_int(), v.arg(6).to_int64()};
  TensorList r(3);
  if (v.grad(0).defined())
    r = thread_state().grad_mode ? group_norm_gradients(g, v.grad(0), input, v.result(1), v.result(2), weight, mask)
                                 : atens<"native_group_norm_backward">(v.grad(0), input, v.result(1), v.result(2), weight,
                                                                       v.arg(3), v.arg(4), v.arg(5), v.arg(6), mask);
  if (mask[0] && (v.grad(1).defined() || v.grad(2).defined())) {
    const Tensor through = gradient_through_statistics(g, input, v.result(1), v.result(2), v.grad(1), v.grad(2));
    r[0] = r[0].defined() ? r[0] + through : through;
  }
  for (int i : {0, 1, 2})
    if (v.need(i)) v.set(i, r[static_cast<std::size_t>(i)]);
}

Value group_norm(const Call& c) {
  const Tensor& input = c.tensor(0);
  const int64_t groups = c[1].to_int64();
  INGOT_REQUIRE(input.dim() >= 2, "Expected at least 2 dimensions for input tensor but received ", input.dim());
  const Int n = input.size(0), channels = input.size(1), area = input.sizes().sub(2, input.sizes().size()).product();
  INGOT_REQUIRE(groups > 0, "Expected num groups to be greater than 0, got ", groups);
  INGOT_REQUIRE(mod(channels, groups) == 0,
                "group_norm: Expected number of channels in input to be divisible by num_groups, but got input of shape ",
                input.sizes(), " and num_groups=", groups);
  const Tensor x = aten<"contiguous">(input, suggest_memory_format(input.sizes(), input.strides()));
  return atens<"native_group_norm">(x, contiguous(c[2].tensor_or_none()), contiguous(c[3].tensor_or_none()), n, channels, area,
                                    groups, c[4])[0];
}

// ---- RMS norm: both results, y and 1 / rms
TensorList rms_normalized(const Call& c) {
  const Tensor &input = c.tensor(0), weight = c[2].tensor_or_none();
  const int axis = check_normalized_shape(c, input, c[1].ints(), weight, {}), rank = static_cast<int>(input.dim());
  const DType compute = statistics_type(input.dtype());
  const double eps = compute == DType::f64 || compute == DType::c128 ? std::numeric_limits<double>::epsilon()
                                                                     : std::numeric_limits<float>::epsilon();
  Shape dims;
  for (int i = rank - 1; i >= axis; i--) dims.push_back(i);
  const Tensor x = as_type(input, compute);
  const Tensor square = aten<"mean.dim">(aten<"pow.Tensor_Scalar">(x, 2), dims, true);
  const Tensor rrms = aten<"rsqrt">(aten<"add.Scalar">(square, c[3].double_or(eps)));
  Tensor y = x * rrms;
  if (weight.defined()) y = y * weight;
  return {aten<"type_as">(y, input), rrms};
}

// ---- weight norm

// v * (g / norm of v over all dims but one)
Tensor norm_except(const Tensor& v, const Value& p, int64_t dim) {
  const int rank = static_cast<int>(v.dim());
  if (dim == -1) return aten<"norm.Scalar">(v, p);
  Shape dims, kept = Shape::filled(v.sizes().size(), 1);
  const int d = wrap_dim(dim, rank);
  if (d == 0) {
    kept[0] = v.size(0);
    return aten<"view">(aten<"norm.ScalarOpt_dim">(aten<"view">(aten<"contiguous">(v), Shape{v.size(0), -1}), p, Shape{1}), kept);
  }
  if (d == rank - 1) {
    kept.back() = v.size(-1);
    return aten<"view">(aten<"norm.ScalarOpt_dim">(aten<"view">(aten<"contiguous">(v), Shape{-1, v.size(-1)}), p, Shape{0}),
                        kept);
  }
  return aten<"transpose.int">(norm_except(aten<"transpose.int">(v, 0, d), p, 0), 0, d);
}

// ---- batching: the same norm of more rows. Parameters of a member's own come after a norm without
// any, in the type it computes in.

// Results of a norm without parameters, computed in its wide type: with the parameters, in the
// types the norm itself gives.
template <class Fit>
Value with_parameters(const Batching& b, TensorList r, int weight, int bias, const Fit& fit) {
  const DType given = b.tensor(0).dtype(), compute = statistics_type(given);
  if (b[weight].is_tensor()) r[0] = r[0] * fit(as_type(b.front(weight), compute));
  if (b[bias].is_tensor()) r[0] = r[0] + fit(as_type(b.front(bias), compute));
  const DType kept = b[weight].is_tensor() && b.tensor(weight).dtype() != given ? compute : given;
  return TensorList{as_type(r[0], given), as_type(r[1], kept), as_type(r[2], kept)};
}
// (input, normalized_shape, weight, bias, eps)
Value batch_layer_norm(const Batching& b) {
  (void)b.member_results();
  Values args = b.args;
  args[0] = b.front(0);
  if (!b.batched(2) && !b.batched(3)) return call(b.op, args);
  args[0] = as_type(b.front(0), statistics_type(b.tensor(0).dtype()));
  args[2] = args[3] = Value();
  return with_parameters(b, call(b.op, args).tensors(), 2, 3, [&](const Tensor& t) { return raise_rank(t, b.rank(0)); });
}
// (input, weight, bias, N, C, HxW, group, eps): the batch joins the samples
Value batch_group_norm(const Batching& b) {
  (void)b.member_results();
  const bool own = b.batched(1) || b.batched(2);
  const DType given = b.tensor(0).dtype();
  Values args = b.args;
  args[0] = merge_dims(as_type(b.front(0), own ? statistics_type(given) : given), 0);
  args[3] = b[3].to_int() * b.size;
  if (own) args[1] = args[2] = Value();
  TensorList r = call(b.op, args).tensors();
  for (Tensor& t : r) t = split_dim(t, 0, b.size, b.sizes(0)[0]);
  if (!own) return r;
  Shape column{b.size, 1, b[4].to_int()};
  while (column.dim() < r[0].dim()) column.push_back(1);
  return with_parameters(b, std::move(r), 1, 2, [&](const Tensor& t) { return aten<"reshape">(t, column); });
}

constexpr OpDef kLayerNormOps[] = {
    {.schema =
         "aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
     .body = native_layer_norm,
     .vjp = layer_norm_vjp,
     .saves = {{0}, {2}, {3}, {kResult - 1}, {kResult - 2}},
     .grad = {.results = 1},
     .batch = batch_layer_norm},
    {.schema =
         "aten::native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, "
         "Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
     .body = native_layer_norm_backward,
     .vjp = layer_norm_backward_vjp,
     .saves = {{0}, {1}, {3}, {4}, {5}}},
    {.schema =
         "aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, "
         "bool cudnn_enable=True) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value { return atens<"native_layer_norm">(c[0], c[1], c[2], c[3], c[4])[0]; }},
    {.schema =
         "aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float eps) -> (Tensor, "
         "Tensor, Tensor)",
     .body = native_group_norm,
     .vjp = group_norm_vjp,
     .saves = {{0}, {1}, {kResult - 1}, {kResult - 2}},
     .batch = batch_group_norm},
    {.schema =
         "aten::native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, SymInt N, SymInt C, SymInt "
         "HxW, int group, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
     .body = native_group_norm_backward},
    {.schema =
         "aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, bool "
         "cudnn_enabled=True) -> Tensor",
     .form = Form::composite,
     .body = group_norm},
    {.schema = "aten::_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)",
     .form = Form::composite,
     .body = [](const Call& c) -> Value { return rms_normalized(c); }},
    {.schema = "aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value { return rms_normalized(c)[0]; }},
    {.schema = "aten::norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value { return norm_except(c.tensor(0), c[1], c[2].to_int64()); }},
    {.schema = "aten::_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor",
     .form = Form::composite,
     .body = [](const Call& c) -> Value { return c.tensor(0) * (c.tensor(1) / norm_except(c.tensor(0), 2, c[2].to_int64())); }},
};

}  // namespace

INGOT_FAMILY(layer_norm, kLayerNormOps)

}  // namespace ingot
