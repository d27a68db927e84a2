// Batch and instance norm. Statistics are per channel (dim 1), over all other dims.
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ops/family.hpp"
#include "ops/common/kept_small.hpp"
#include "ops/network/normalization.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

Shape all_but_channels(int rank) {
  Shape s{0};
  for (int i = 2; i < rank; i++) s.push_back(i);
  return s;
}
Shape channel_shape(const Tensor& input) {
  Shape s = Shape::filled(input.sizes().size(), 1);
  s[1] = input.size(1);
  return s;
}
// A per-channel vector, so that it broadcasts to the input, in the type that is computed in.
Tensor per_channel(const Tensor& t, const Tensor& input, DType dtype) {
  return t.defined() ? as_type(aten<"view">(aten<"contiguous">(t), channel_shape(input)), dtype) : t;
}
Tensor as_vector(const Tensor& t, DType dtype) { return as_type(aten<"view">(t, Shape{t.numel()}), dtype); }

void check_channels(const Call& c, const Tensor& input, std::initializer_list<std::pair<const char*, Tensor>> vectors) {
  INGOT_REQUIRE(input.dim() >= 2, c.op.schema.name, ": expected an input with at least 2 dimensions (N, C, …), found ",
                input.sizes());
  for (const auto& [name, t] : vectors)
    INGOT_REQUIRE(!t.defined() || t.numel() == input.size(1), c.op.schema.name, ": ", name, " should contain ", input.size(1),
                  " elements not ", t.numel());
}

struct Normed {
  Tensor y, mean, rstd;          // mean and rstd as the op returns them
  Tensor new_mean, new_var;      // running statistics after the call; undefined without any
};
Normed batch_normed(const Call& c, const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                    const Tensor& running_var, bool training, double momentum, double eps) {
  check_channels(c, input, {{"weight", weight}, {"bias", bias}, {"running_mean", running_mean}, {"running_var", running_var}});
  const DType compute = statistics_type(input.dtype());
  const Tensor x = as_type(aten<"contiguous">(input, suggest_memory_format(input.sizes(), input.strides())), compute);
  const Tensor w = per_channel(weight, input, compute), b = per_channel(bias, input, compute);
  // Statistics of half inputs stay float when the parameters are float.
  const Tensor& parameter = weight.defined() ? weight : running_mean;
  const DType kept = parameter.defined() && parameter.dtype() != input.dtype() ? compute : input.dtype();
  Normed r;
  if (!training) {
    INGOT_REQUIRE(running_mean.defined() && running_var.defined(), c.op.schema.name,
                  ": running_mean and running_var must be defined in evaluation mode");
    const Tensor rstd = aten<"rsqrt">(aten<"add.Scalar">(per_channel(running_var, input, compute), eps));
    r.y = as_type(normalized(x, per_channel(running_mean, input, compute), rstd, w, b), input.dtype());
    r.mean = aten<"new_zeros">(x, Shape{0}, kept);
    r.rstd = aten<"new_zeros">(x, Shape{0}, kept);
    r.new_mean = running_mean;
    r.new_var = running_var;
    return r;
  }
  const Shape dims = all_but_channels(static_cast<int>(input.dim()));
  const Int n = floor_div(input.numel(), input.size(1));
  Statistics s = statistics(x, dims, eps);
  // Where the parameters are half, PyTorch keeps every statistic in half from one step to the next.
  const auto rounded = [&](const Tensor& t) { return as_type(as_type(t, kept), compute); };
  const auto sum_of_squares = [&] { return rounded(aten<"mul.Scalar">(s.var, n)); };
  Tensor squares;
  if (kept != compute) {
    squares = sum_of_squares();
    s.mean = rounded(s.mean);
    s.var = rounded(aten<"div.Scalar">(squares, n));
    s.rstd = aten<"rsqrt">(aten<"add.Scalar">(s.var, eps));
  }
  r.mean = as_vector(s.mean, kept);
  r.rstd = as_vector(s.rstd, kept);
  // Normalised by what the backward will see, rounded to half where the parameters are half.
  r.y = as_type(normalized(x, per_channel(r.mean, input, compute), per_channel(r.rstd, input, compute), w, b), input.dtype());
  const double share = rounded_number(momentum, kept), rest = rounded_number(1 - momentum, kept);
  if (running_mean.defined()) {
    const Tensor mean = as_vector(s.mean, compute), old = as_type(running_mean, compute);
    r.new_mean = as_type(rounded(mean * share) + rounded(old * rest), running_mean.dtype());
  }
  if (running_var.defined()) {
    if (!squares.defined()) squares = sum_of_squares();
    const Tensor unbiased = rounded(aten<"div.Scalar">(as_vector(squares, compute), n - 1)), old = as_type(running_var, compute);
    r.new_var = as_type(unbiased * share + rounded(old * rest), running_var.dtype());
  }
  return r;
}

// ---- the core forms
Value legit(const Call& c) {  // writes the running statistics
  const Tensor &mean = c.tensor(3), &var = c.tensor(4);
  const bool training = c[5].to_bool();
  const Normed r = batch_normed(c, c.tensor(0), c[1].tensor_or_none(), c[2].tensor_or_none(), mean, var, training,
                                c[6].to_double(), c[7].to_double());
  if (training) {
    aten_value<"copy_">(mean, r.new_mean);
    aten_value<"copy_">(var, r.new_var);
  }
  return TensorList{r.y, r.mean, r.rstd};
}
Value legit_functional(const Call& c) {
  const Normed r = batch_normed(c, c.tensor(0), c[1].tensor_or_none(), c[2].tensor_or_none(), c.tensor(3), c.tensor(4),
                                c[5].to_bool(), c[6].to_double(), c[7].to_double());
  auto fresh = [&](const Tensor& t) { return c[5].to_bool() ? t : aten<"clone">(t); };
  return TensorList{r.y, r.mean, r.rstd, fresh(r.new_mean), fresh(r.new_var)};
}
Value legit_no_stats(const Call& c) {
  const Normed r = batch_normed(c, c.tensor(0), c[1].tensor_or_none(), c[2].tensor_or_none(), {}, {}, c[3].to_bool(),
                                c[4].to_double(), c[5].to_double());
  return TensorList{r.y, r.mean, r.rstd};
}
Value legit_no_training(const Call& c) {
  const Normed r = batch_normed(c, c.tensor(0), c[1].tensor_or_none(), c[2].tensor_or_none(), c.tensor(3), c.tensor(4), false,
                                c[5].to_double(), c[6].to_double());
  return TensorList{r.y, r.mean, r.rstd};
}

// ---- backward: grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train,
// eps, output_mask

// mean and rstd that the forward normalised with, broadcastable to the input.
std::pair<Tensor, Tensor> used_statistics(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                                          const Tensor& save_mean, const Tensor& save_rstd, bool train, double eps,
                                          DType compute) {
  if (train) return {per_channel(save_mean, input, compute), per_channel(save_rstd, input, compute)};
  return {per_channel(running_mean, input, compute),
          aten<"rsqrt">(aten<"add.Scalar">(per_channel(running_var, input, compute), eps))};
}

Value batch_norm_backward(const Call& c) {
  const Tensor &input = c.tensor(1), weight = c[2].tensor_or_none();
  const bool train = c[7].to_bool();
  const std::vector<bool>& mask = c[9].bools();
  check_channels(c, input, {{"weight", weight}});
  const DType compute = statistics_type(input.dtype());
  const MemoryFormat format = suggest_memory_format(input.sizes(), input.strides());
  const Tensor x = as_type(aten<"contiguous">(input, format), compute),
               g = as_type(aten<"contiguous">(c.tensor(0), format), compute);
  const auto [mean, rstd] = used_statistics(input, c[3].tensor_or_none(), c[4].tensor_or_none(), c[5].tensor_or_none(),
                                            c[6].tensor_or_none(), train, c[8].to_double(), compute);
  const Shape dims = all_but_channels(static_cast<int>(input.dim()));
  const Tensor w = per_channel(weight, input, compute), xhat = (x - mean) * rstd;
  const DType parameter = weight.defined() ? weight.dtype() : compute;
  TensorList r(3);
  if (mask[0]) {
    const Tensor a = w.defined() ? g * w : g;
    r[0] = as_type(train ? normalization_gradient(a, xhat, rstd, dims) : a * rstd, input.dtype());
  }
  if (mask[1]) r[1] = as_type(aten<"sum.dim_IntList">(g * xhat, dims), parameter);
  if (mask[2]) r[2] = as_type(aten<"sum.dim_IntList">(g, dims), parameter);
  return r;
}

void batch_norm_backward_vjp(Vjp& v) {
  const Tensor g = v.saved(0), input = v.saved(1);
  const DType t = input.dtype();
  const bool train = v.arg(7).to_bool();
  const auto [mean, rstd] =
      used_statistics(input, v.saved(3), v.saved(4), v.saved(5), v.saved(6), train, v.arg(8).to_double(), t);
  const Shape dims = all_but_channels(static_cast<int>(input.dim()));
  const SecondOrder s =
      normalization_second_order(g, (input - mean) * rstd, rstd, per_channel(v.saved(2), input, t), v.grad(0),
                                 per_channel(v.grad(1), input, t), per_channel(v.grad(2), input, t), dims, !train);
  if (v.need(0)) v.set(0, s.grad_out);
  if (v.need(1)) v.set(1, s.x);
  if (v.need(2) && s.weight.defined()) v.set(2, aten<"sum.dim_IntList">(s.weight, dims));
}

void native_backward_vjp(Vjp& v) {
  not_implemented_for(v, 5, "native_batch_norm_backward save_mean");
  not_implemented_for(v, 6, "native_batch_norm_backward save_invstd");
  batch_norm_backward_vjp(v);
}
void reserving_backward_vjp(Vjp& v) {
  not_implemented_for(v, 5, "batch_norm_backward save_mean");
  not_implemented_for(v, 6, "batch_norm_backward save_var");
  not_implemented_for(v, 10, "batch_norm_backward reserve");
  batch_norm_backward_vjp(v);
}

// Arguments of the forward: input, weight, bias, then running statistics at 3 and 4 (or none), then
// training, momentum, eps.
void set_gradients(Vjp& v, const Tensor& mean, const Tensor& var, const Value& train, const Value& eps, bool saved) {
  if (!v.grad(0).defined()) return;
  const TensorList g = atens<"native_batch_norm_backward">(
      v.grad(0), v.saved(0), v.saved(1), mean, var, saved ? Value(v.result(1)) : Value(), saved ? Value(v.result(2)) : Value(),
      train, eps, std::vector<bool>{v.need(0), v.need(1), v.need(2)});
  for (int i : {0, 1, 2})
    if (v.need(i)) v.set(i, g[static_cast<std::size_t>(i)]);
}
void legit_vjp(Vjp& v) { set_gradients(v, v.saved(3), v.saved(4), v.arg(5), v.arg(7), true); }
void no_stats_vjp(Vjp& v) { set_gradients(v, {}, {}, v.arg(3), v.arg(5), true); }
void no_training_vjp(Vjp& v) { set_gradients(v, v.saved(3), v.saved(4), false, v.arg(6), false); }

// ---- the forms that name what happens to the running statistics: results as above, and an empty
// reserve
Value with_reserve(TensorList r) {
  r.insert(r.begin() + 3, aten<"new_zeros">(r[0], Shape{0}, DType::u8));
  return r;
}
Value with_update(const Call& c) {  // input, weight, bias, running_mean, running_var, momentum, eps
  const Normed r = batch_normed(c, c.tensor(0), c[1].tensor_or_none(), c[2].tensor_or_none(), c.tensor(3), c.tensor(4), true,
                                c[5].to_double(), c[6].to_double());
  aten_value<"copy_">(c.tensor(3), r.new_mean);
  aten_value<"copy_">(c.tensor(4), r.new_var);
  return with_reserve({r.y, r.mean, r.rstd});
}
Value with_update_functional(const Call& c) {
  const Normed r = batch_normed(c, c.tensor(0), c[1].tensor_or_none(), c[2].tensor_or_none(), c.tensor(3), c.tensor(4), true,
                                c[5].to_double(), c[6].to_double());
  return with_reserve({r.y, r.mean, r.rstd, r.new_mean, r.new_var});
}
Value no_update(const Call& c) {
  const bool given = !c[3].is_none() && !c[4].is_none();
  const Normed r = batch_normed(c, c.tensor(0), c[1].tensor_or_none(), c[2].tensor_or_none(), c[3].tensor_or_none(),
                                c[4].tensor_or_none(), !given, c[5].to_double(), c[6].to_double());
  return with_reserve({r.y, r.mean, r.rstd});
}
// grad_out, input, weight, running_mean, running_var, save_mean, save_var, update, eps,
// output_mask, reserve
template <bool Update>
void update_vjp(Vjp& v) {
  if (!v.grad(0).defined()) return;
  if (!v.is_tensor(1))
    return set_gradients(v, v.saved(3), v.saved(4), Update, v.arg(6), true);  // batch_norm_backward wants a weight
  const TensorList g =
      atens<"batch_norm_backward">(v.grad(0), v.saved(0), v.saved(1), v.saved(3), v.saved(4), v.result(1), v.result(2), Update,
                                   v.arg(6), std::vector<bool>{v.need(0), v.need(1), v.need(2)}, v.result(3));
  for (int i : {0, 1, 2})
    if (v.need(i)) v.set(i, g[static_cast<std::size_t>(i)]);
}

// ---- composites

// input, weight, bias, running_mean, running_var, training, momentum, eps: the core form that fits.
TensorList native_batch_norm(const Call& c) {
  if (c[3].is_none() && c[4].is_none()) {
    INGOT_REQUIRE(c[5].to_bool(), "Expected running_mean and running_var to be defined when training is false");
    return atens<"_native_batch_norm_legit.no_stats">(c[0], c[1], c[2], c[5], c[6], c[7]);
  }
  INGOT_REQUIRE(!c[3].is_none() && !c[4].is_none(), "running_mean and running_var must either both be None or neither be None");
  if (c[5].to_bool()) return atens<"_native_batch_norm_legit">(c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]);
  return atens<"_native_batch_norm_legit_no_training">(c[0], c[1], c[2], c[3], c[4], c[6], c[7]);
}

Value batch_norm(const Call& c) {
  if (!(c.tensor(0).numel() == 0)) return native_batch_norm(c)[0];
  // Nothing to normalise, any rank: only the gradient's way to the parameters remains.
  Tensor out = aten<"clone">(c.tensor(0));
  if (!c[1].is_none()) out = out * aten<"select.int">(c.tensor(1), 0, 0);
  if (!c[2].is_none()) out = out + aten<"select.int">(c.tensor(2), 0, 0);
  return out;
}

Value instance_norm(const Call& c) {
  const Tensor& input = c.tensor(0);
  const bool use_input = c[5].to_bool();
  INGOT_REQUIRE(use_input || (!c[3].is_none() && !c[4].is_none()),
                "Expected running_mean and running_var to be defined when use_input_stats is false");
  INGOT_REQUIRE(input.dim() >= 2, "instance_norm: expected an input with at least 2 dimensions (N, C, …), found ", input.sizes());
  const Int n = input.size(0), channels = input.size(1);
  // Every instance's channels are channels of one batch of size 1.
  Shape shape = input.sizes();
  shape[0] = 1;
  shape[1] = n * channels;
  auto repeated = [&](int i) { return c[i].is_none() ? Tensor() : aten<"repeat">(c.tensor(i), Shape{n}); };
  const Tensor running_mean = repeated(3), running_var = repeated(4);
  const Tensor out = aten<"batch_norm">(aten<"view">(aten<"contiguous">(input), shape), repeated(1), repeated(2), running_mean,
                                        running_var, use_input, c[6], c[7], c[8]);
  auto write_back = [&](int i, const Tensor& t) {
    if (t.defined())
      aten_value<"copy_">(aten<"alias">(c.tensor(i)), aten<"mean.dim">(aten<"view">(t, Shape{n, channels}), Shape{0}, false));
  };
  write_back(3, running_mean);
  write_back(4, running_var);
  return aten<"view">(out, input.sizes());
}

// The running statistics are arguments 3 and 4 of every form; none may require grad.
constexpr uint16_t kRunning = 0b11000;

constexpr OpDef kBatchNormOps[] = {
    {.schema =
         "aten::_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, bool "
         "training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
     .body = legit,
     .vjp = legit_vjp,
     .saves = {{0}, {1}, {3}, {4}, {kResult - 1}, {kResult - 2}},
     .grad = {.refuses = kRunning, .results = 1}},
    {.schema =
         "aten::_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, float eps) -> "
         "(Tensor, Tensor, Tensor)",
     .body = legit_no_stats,
     .vjp = no_stats_vjp,
     .saves = {{0}, {1}, {kResult - 1}, {kResult - 2}},
     .grad = {.results = 1, .node_number = 1}},
    {.schema =
         "aten::_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, bool "
         "training, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)",
     .body = legit_functional,
     .vjp = legit_vjp,
     .saves = {{0}, {1}, {3}, {4}, {kResult - 1}, {kResult - 2}},
     .grad = {.refuses = kRunning, .results = 1}},
    {.schema =
         "aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float "
         "momentum, float eps) -> (Tensor, Tensor, Tensor)",
     .body = legit_no_training,
     .vjp = no_training_vjp,
     .saves = {{0}, {1}, {3}, {4}},
     .grad = {.refuses = kRunning, .results = 1}},
    {.schema =
         "aten::native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? running_var, Tensor? "
         "save_mean, Tensor? save_invstd, bool train, float eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
     .body = batch_norm_backward,
     .vjp = native_backward_vjp,
     .saves = {{0}, {1}, {2}, {3}, {4}, {5}, {6}},
     .grad = {.refuses = kRunning}},
    {.schema =
         "aten::_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, float momentum, "
         "float eps) -> (Tensor, Tensor, Tensor, Tensor)",
     .body = with_update,
     .vjp = update_vjp<true>,
     .saves = {{0}, {1}, {3}, {4}, {kResult - 1}, {kResult - 2}, {kResult - 3}},
     .grad = {.refuses = kRunning, .results = 1}},
    {.schema =
         "aten::_batch_norm_with_update_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float "
         "momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)",
     .body = with_update_functional,
     .vjp = update_vjp<true>,
     .saves = {{0}, {1}, {3}, {4}, {kResult - 1}, {kResult - 2}, {kResult - 3}},
     .grad = {.refuses = kRunning, .results = 1}},
    {.schema =
         "aten::_batch_norm_no_update(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, float momentum, float "
         "eps) -> (Tensor, Tensor, Tensor, Tensor)",
     .body = no_update,
     .vjp = update_vjp<false>,
     .saves = {{0}, {1}, {3}, {4}, {kResult - 1}, {kResult - 2}, {kResult - 3}},
     .grad = {.refuses = kRunning, .results = 1}},
    {.schema =
         "aten::batch_norm_backward(Tensor grad_out, Tensor input, Tensor weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, "
         "Tensor? save_var, bool update, float eps, bool[3] output_mask, Tensor reserve) -> (Tensor, Tensor, Tensor)",
     .body = batch_norm_backward,
     .vjp = reserving_backward_vjp,
     .saves = {{0}, {1}, {2}, {3}, {4}, {5}, {6}},
     .grad = {.refuses = kRunning}},
    {.schema =
         "aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float "
         "momentum, float eps) -> (Tensor, Tensor, Tensor)",
     .form = Form::composite,
     .body = [](const Call& c) -> Value { return native_batch_norm(c); },
     .result = {.may_alias = true}},
    {.schema =
         "aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, "
         "float eps, bool cudnn_enabled) -> Tensor",
     .form = Form::composite,
     .body = batch_norm,
     .result = {.may_alias = true}},
    {.schema =
         "aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, float "
         "momentum, float eps, bool cudnn_enabled) -> Tensor",
     .form = Form::composite,
     .body = instance_norm},
};

}  // namespace

INGOT_FAMILY(batch_norm, kBatchNormOps)

}  // namespace ingot
