#include "support/perturb.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/dtype.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "op/tensors.hpp"

namespace ingot::testing {

double drawn(uint64_t seed, uint64_t i) {
  uint64_t x = seed * 0x9e3779b97f4a7c15 + i * 0xbf58476d1ce4e5b9 + 0x94d049bb133111eb;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return std::ldexp(static_cast<double>((x ^ (x >> 31)) >> 11), -53);
}

DType widened(DType t) { return is_complex(t) ? DType::c128 : is_floating(t) ? DType::f64 : t; }

namespace {
// The distance from one to the next number of the type, and from zero to the next.
struct Steps {
  double at_one, at_zero;
};
Steps steps_of(DType t) {
  switch (real_of(t)) {
    case DType::f64: return {0x1p-52, 0x1p-1074};
    case DType::f16: return {0x1p-10, 0x1p-24};
    case DType::bf16: return {0x1p-7, 0x1p-133};
    default: return {0x1p-23, 0x1p-149};
  }
}

// What a bound is widened by: elements that are not finite widen nothing, since their own bound
// would be NaN, which allows everything.
Tensor finite(const Tensor& t) { return aten<"nan_to_num">(t, 0.0, 0.0, 0.0); }

// The sizes of finite numbers, in the type of a result that they are rounded in: truth values,
// which count as numbers there, have none of their own.
Tensor sizes_in(const Tensor& result, const Tensor& t) { return finite(t.to(result.dtype())).abs(); }

// How far results of attention are off where weights below the smallest normal number count as
// none, which its kernel may do and code made of its parts does not: what multiplies such a weight
// on the way to a result or a gradient is at most every operand's sum of sizes.
double of_lost_weights(const Op& op, Args args) {
  if (op.schema.name.find("scaled_dot_product") == std::string::npos) return 0;
  double off = 0x1p-126;
  for_each_tensor(args, [&](const Tensor& t) {
    if (is_floating(t.dtype())) off *= 1 + aten<"sum">(finite(t.to(DType::f64)).abs()).to_vector<double>().at(0);
  });
  return off;
}

// Gradients of queries and keys pass through that of a softmax: the gradient of a weight less the
// sum of its row, which cancel next to a one-hot row. What is left is the rounding of that sum,
// here `rounding` by row, times weight, scale and the other operand. Nothing where the operands
// repeat heads.
struct LostInAttention {
  Tensor query, key;
};
LostInAttention lost_in_attention(Args args, const Tensor& rounding) {
  const Tensor query = finite(args[1].tensor().to(DType::f64)), key = finite(args[2].tensor().to(DType::f64));
  if (query.dim() != 4 || query.size(1).value() != key.size(1).value()) return {};
  const double scale = args[9].is_none() ? 1 / std::sqrt(static_cast<double>(query.size(3).value())) : args[9].to_double();
  const Tensor scores = query.matmul(key.transpose(-2, -1)) * scale;
  // Masked weights are less than these, which are at most one.
  const Tensor weights = finite(aten<"clamp_max">((scores - args[5].tensor().to(DType::f64).unsqueeze(-1)).exp(), 1.0));
  const Tensor lost = weights * rounding.unsqueeze(-1) * scale;
  return {lost.matmul(key), lost.transpose(-2, -1).matmul(query)};
}
}  // namespace

double unit_of(DType t) { return steps_of(t).at_one; }

Tensor Perturbing::off(const Tensor& t) {
  if (!t.defined() || !is_differentiable(t.dtype())) return t;
  // Both parts of a complex number are off by a unit of its size.
  const int parts = is_complex(t.dtype()) ? 2 : 1;
  std::vector<double> f(static_cast<std::size_t>(t.numel().value()) * parts), least(f.size());
  seed_++;
  for (std::size_t i = 0; i < f.size(); i++) {
    const double by = 2 * drawn(seed_, i) - 1;
    f[i] = (i % parts == 0 ? 1 : 0) + unit_of(t.dtype()) * by;
    least[i] = std::copysign(steps_of(t.dtype()).at_zero, by);
  }
  const auto of_size = [&](const std::vector<double>& numbers) {
    if (parts == 1) return tensor(numbers, t.sizes(), DType::f64);
    Shape in_parts = t.sizes();
    in_parts.push_back(parts);
    return aten<"view_as_complex">(tensor(numbers, in_parts, DType::f64));
  };
  const Tensor wide = t.to(widened(t.dtype()));
  const Tensor away = aten<"sgn">(wide) * of_size(least);  // what is zero stays so
  return (wide * of_size(f) + away).to(t.dtype());
}

Tensor Perturbing::off_as_summed(const Tensor& t) {
  const Tensor each = off(t);
  if (!t.defined() || widened(t.dtype()) != t.dtype() || !is_differentiable(t.dtype()) || t.dim() == 0) return each;
  int longest = 0;
  for (int d = 1; d < t.dim(); d++)
    if (t.size(d).value() > t.size(longest).value()) longest = d;
  std::vector<double> f(static_cast<std::size_t>(t.size(longest).value()));
  seed_++;
  double after = 0;  // the roundings of the partial sums that an element is in
  for (std::size_t i = f.size(); i-- > 0;) f[i] = 1 + unit_of(t.dtype()) * (after += drawn(seed_, i) - 0.5);
  std::vector<int64_t> along(static_cast<std::size_t>(t.dim()), 1);
  along[static_cast<std::size_t>(longest)] = -1;
  return each * tensor(f, DType::f64).view(Shape(along));
}

Value Perturbing::call(const Op& op, Args args) {
  const Form form = op.form();
  if (form == Form::view || form == Form::factory || (op.aliases() && !op.mutates())) return below(op, args);
  Values given(args.begin(), args.end());
  const auto is_written = [&](std::size_t k) { return std::find(op.written.begin(), op.written.end(), k) != op.written.end(); };
  const bool sums = form != Form::pointwise && form != Form::random && operands_ == also_of_sums;
  for (std::size_t k = 0; k < given.size() && sums; k++)
    if (given[k].is_tensor() && !is_written(k)) given[k] = off_as_summed(given[k].tensor());
  const Value r = below(op, given);
  if (op.mutates()) {
    for (std::size_t k = 0; k < given.size(); k++)
      if (is_written(k) && given[k].is_tensor()) aten_value<"copy_">(given[k], off(given[k].tensor()));
    return r;
  }
  if (&op == &op_ref<"gelu">() || &op == &op_ref<"gelu_backward">()) {
    // 1 + erf(x) has lost what is less than a unit of one: the product with x, or with the
    // gradient, is off by a unit of that.
    const Tensor factor = finite(args[0].tensor());
    return off(r.tensor() + (off(factor) - factor));
  }
  if (&op == &op_ref<"logsumexp">() && args[0].tensor().numel().value() > 0) {
    // The greatest, and the logarithm of a sum that is added to it: off by a unit of that, also
    // where they cancel.
    const Tensor greatest = aten<"amax">(sizes_in(r.tensor(), args[0].tensor()), args[1].ints(), args[2].to_bool());
    return off(r.tensor() + (off(greatest) - greatest));
  }
  if (&op == &op_ref<"logaddexp">() || &op == &op_ref<"logaddexp2">()) {  // the same of two
    const Tensor greatest = aten<"maximum">(sizes_in(r.tensor(), args[0].tensor()), sizes_in(r.tensor(), args[1].tensor()));
    return off(r.tensor() + (off(greatest) - greatest));
  }
  const bool of_log = &op == &op_ref<"_log_softmax_backward_data">();
  if (of_log || &op == &op_ref<"_softmax_backward_data">()) {
    // A gradient less (a share of) the sum of all of its row: near a one-hot row they cancel, and
    // what is left is the rounding of that sum, which operands that are off do not show, as both
    // sides have them.
    const Tensor gradient = finite(args[0].tensor()), rounding = off(gradient) - gradient;
    return off(r.tensor() + (of_log ? rounding : rounding * finite(args[1].tensor())).to(r.tensor().dtype()));
  }
  if (r.is_tensor()) return off(r.tensor());
  if (!r.is_tensors()) return r;
  const double lost = of_lost_weights(op, args) * (2 * drawn(seed_, 0) - 1);
  TensorList l;
  TensorList results = r.tensors();
  if (&op == &op_ref<"_scaled_dot_product_flash_attention_for_cpu_backward">() && results[0].numel().value() > 0) {
    const Tensor sums = aten<"sum.dim_IntList">((finite(args[0].tensor()) * finite(args[4].tensor())).abs(), Shape{-1});
    const LostInAttention more = lost_in_attention(args, (off(sums) - sums).to(DType::f64));
    if (more.query.defined()) {
      results[0] = results[0] + more.query.to(results[0].dtype());
      results[1] = results[1] + more.key.to(results[1].dtype());
    }
  }
  for (const Tensor& t : results)
    l.push_back(off(lost != 0 && t.defined() && is_floating(t.dtype()) ? aten<"add.Scalar">(t, lost) : t));
  return l;
}

}  // namespace ingot::testing
