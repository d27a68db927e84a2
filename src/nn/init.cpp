#include "ingot/nn/init.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"

namespace ingot::nn::init {

double calculate_gain(Nonlinearity nonlinearity, double param) {
  switch (nonlinearity) {
    case Nonlinearity::linear:
    case Nonlinearity::sigmoid: return 1;
    case Nonlinearity::tanh: return 5.0 / 3;
    case Nonlinearity::relu: return std::numbers::sqrt2;
    case Nonlinearity::leaky_relu: return std::sqrt(2 / (1 + param * param));
    case Nonlinearity::selu: return 3.0 / 4;
  }
  return 1;
}

std::pair<int64_t, int64_t> fan_in_and_fan_out(const Tensor& weight) {
  INGOT_REQUIRE(weight.dim() >= 2, "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions, found size ",
                weight.sizes());
  const int64_t field = weight.sizes().sub(2, weight.sizes().size()).product().value();
  return {weight.size(1).value() * field, weight.size(0).value() * field};
}

Tensor uniform_(Tensor t, double a, double b) {
  const NoGrad no_grad;
  aten_value<"uniform_">(t, a, b);
  return t;
}
Tensor normal_(Tensor t, double mean, double std) {
  const NoGrad no_grad;
  aten_value<"normal_">(t, mean, std);
  return t;
}

Tensor trunc_normal_(Tensor t, double mean, double std, double a, double b) {
  const NoGrad no_grad;
  // By the inverse of the distribution function, at places between those of a and b.
  const auto below = [&](double x) { return (1 + std::erf((x - mean) / std / std::numbers::sqrt2)) / 2; };
  uniform_(t, 2 * below(a) - 1, 2 * below(b) - 1);
  const Tensor x = aten<"erfinv">(t) * (std * std::numbers::sqrt2) + mean;
  return t.copy_(clamp(x, a, b));
}

Tensor constant_(Tensor t, double value) {
  const NoGrad no_grad;
  return t.fill_(value);
}
Tensor ones_(Tensor t) { return constant_(std::move(t), 1); }
Tensor zeros_(Tensor t) { return constant_(std::move(t), 0); }

Tensor eye_(Tensor t) {
  INGOT_REQUIRE(t.dim() == 2, "Only tensors with 2 dimensions are supported, found size ", t.sizes());
  const NoGrad no_grad;
  t.zero_();
  t.diagonal().fill_(1);
  return t;
}

Tensor dirac_(Tensor t, int64_t groups) {
  INGOT_REQUIRE(t.dim() >= 3 && t.dim() <= 5, "Only tensors with 3, 4, or 5 dimensions are supported, found size ", t.sizes());
  INGOT_REQUIRE(groups > 0 && t.size(0).value() % groups == 0, "dim 0 must be divisible by groups, found size ", t.sizes(),
                " and ", groups, " groups");
  const NoGrad no_grad;
  t.zero_();
  const int64_t channels = t.size(0).value() / groups, kept = std::min(channels, t.size(1).value());
  for (int64_t group = 0; group < groups; group++) {
    Tensor middle = t.narrow(0, group * channels, channels);
    while (middle.dim() > 2) middle = middle.select(2, middle.size(2).value() / 2);
    middle.narrow(0, 0, kept).diagonal().fill_(1);
  }
  return t;
}

Tensor orthogonal_(Tensor t, double gain) {
  INGOT_REQUIRE(t.dim() >= 2, "Only tensors with 2 or more dimensions are supported, found size ", t.sizes());
  const NoGrad no_grad;
  if (t.numel() == 0) return t;
  const Int rows = t.size(0), columns = floor_div(t.numel(), rows);
  const bool is_wide = rows.value() < columns.value();
  Tensor flat = randn({rows, columns}, {.dtype = t.dtype()});
  if (is_wide) flat = flat.t();
  const TensorList qr = atens<"linalg_qr">(flat);
  Tensor q = qr[0] * sign(qr[1].diagonal());  // as one of all orthogonal matrices, each as likely
  if (is_wide) q = q.t();
  return t.copy_((q * gain).reshape(t.sizes()));
}

Tensor sparse_(Tensor t, double sparsity, double std) {
  INGOT_REQUIRE(t.dim() == 2, "Only tensors with 2 dimensions are supported, found size ", t.sizes());
  const NoGrad no_grad;
  normal_(t, 0, std);
  const Int rows = t.size(0);
  const auto zeros = static_cast<int64_t>(std::ceil(sparsity * static_cast<double>(rows.value())));
  for (int64_t column = 0; column < t.size(1).value(); column++)
    aten_value<"index_fill_.int_Scalar">(t.select(1, column), 0, randperm(rows).narrow(0, 0, zeros), 0);
  return t;
}

Tensor xavier_uniform_(Tensor t, double gain) {
  const auto [in, out] = fan_in_and_fan_out(t);
  const double bound = gain * std::sqrt(6.0 / static_cast<double>(in + out));
  return uniform_(std::move(t), -bound, bound);
}
Tensor xavier_normal_(Tensor t, double gain) {
  const auto [in, out] = fan_in_and_fan_out(t);
  return normal_(std::move(t), 0, gain * std::sqrt(2.0 / static_cast<double>(in + out)));
}

static double kaiming_std(const Tensor& t, const KaimingOptions& o) {
  const auto [in, out] = fan_in_and_fan_out(t);
  return calculate_gain(o.nonlinearity, o.a) / std::sqrt(static_cast<double>(o.mode == Fan::in ? in : out));
}
Tensor kaiming_uniform_(Tensor t, KaimingOptions o) {
  const double bound = std::sqrt(3.0) * kaiming_std(t, o);
  return uniform_(std::move(t), -bound, bound);
}
Tensor kaiming_normal_(Tensor t, KaimingOptions o) {
  const double std = kaiming_std(t, o);
  return normal_(std::move(t), 0, std);
}

}  // namespace ingot::nn::init
