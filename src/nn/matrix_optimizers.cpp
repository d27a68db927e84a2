// Adafactor and Muon: rules that see a parameter as a matrix.
#include <cmath>

#include "base/dtype.hpp"
#include "ingot/ingot.hpp"
#include "ingot/optim/optimizers.hpp"
#include "nn/first_order.hpp"

namespace ingot::optim {

// ---- Adafactor

void AdafactorOptions::check() const {
  INGOT_REQUIRE(lr >= 0, "Learning rate should be >= 0 but is: ", lr);
  INGOT_REQUIRE(beta2_decay <= 0, "beta2_decay should be <= 0 but is: ", beta2_decay);
  INGOT_REQUIRE(!eps1 || *eps1 >= 0, "epsilon1 should be >= 0 but is: ", *eps1);
  INGOT_REQUIRE(eps2 >= 0, "epsilon2 should be >= 0 but is: ", eps2);
  INGOT_REQUIRE(d >= 1, "Clipping threshold d should be >= 1 but is: ", d);
  INGOT_REQUIRE(weight_decay >= 0, "weight_decay should be >= 0 but is: ", weight_decay);
}
std::vector<NamedOption> AdafactorOptions::named() {
  return {{"lr", &lr}, {"beta2_decay", &beta2_decay},   {"eps.0", &eps1},       {"eps.1", &eps2},
          {"d", &d},   {"weight_decay", &weight_decay}, {"maximize", &maximize}};
}

namespace {

enum Slot : std::size_t { kRow, kColumn, kVariance };

double machine_epsilon(DType t) {
  switch (t) {
    case DType::f64: return 0x1p-52;
    case DType::f16: return 0x1p-10;
    case DType::bf16: return 0x1p-7;
    default: return 0x1p-23;
  }
}
Tensor root_mean_square(const Tensor& t) { return aten<"linalg_vector_norm">(t, 2.0) / std::sqrt(t.numel().value()); }
// The mean square over a dim, which stays.
Tensor mean_square(const Tensor& t, int64_t dim) {
  const Tensor n = aten<"linalg_vector_norm">(t, 2.0, Shape{dim}, true);
  return n * n / Scalar(t.size(dim));
}
void approach(Tensor& average, const Tensor& value, double weight) { aten_value<"lerp_.Scalar">(average, value, Scalar(weight)); }

}  // namespace

Adafactor::Adafactor(TensorList parameters, AdafactorOptions o)
    : OptimizerOf(std::move(parameters), o, {"row_var", "col_var", "variance"}, true) {}

Shape Adafactor::slot_size(std::size_t slot, const Tensor& parameter) const {
  Shape size = parameter.sizes();
  if (slot == kVariance || size.size() < 2) return size;
  size[size.size() - (slot == kRow ? 1 : 2)] = 1;
  return size;
}

void Adafactor::step() {
  each([&](const AdafactorOptions& o, std::size_t i, Tensor p, Tensor g) {
    require_dense(g, "Adafactor");
    INGOT_REQUIRE(!p.is_complex(), "Adafactor does not support complex parameters");
    State& s = states_[i];
    s.step++;
    if (o.maximize) g = g.neg();
    const double eps1 = o.eps1.value_or(machine_epsilon(p.dtype()));
    const auto step = static_cast<double>(s.step);
    const double weight = std::pow(step, o.beta2_decay), rho = std::min(o.lr, 1 / std::sqrt(step));
    const Tensor lr = clamp(root_mean_square(p), o.eps2) * rho;
    if (o.weight_decay != 0) p.mul_(Scalar(1 - o.lr * o.weight_decay));
    Tensor variance;
    if (g.dim() > 1) {
      for (const std::size_t k : {kRow, kColumn})
        if (!s.slots[k].defined()) s.slots[k] = zeros(slot_size(k, g), {.dtype = g.dtype()});
      Tensor &row = s.slots[kRow], &column = s.slots[kColumn];
      require_same_dtype(row, p, "Adafactor", i);
      approach(row, mean_square(g, -1), weight);
      approach(column, mean_square(g, -2), weight);
      variance = row.matmul(column) / clamp(row.mean({-2}, true), eps1);
    } else {
      variance = zeros_if_new(s.slots[kVariance], g);
      require_same_dtype(variance, p, "Adafactor", i);
      approach(variance, g * g, weight);
    }
    const Tensor update = rsqrt(clamp(variance, eps1 * eps1)) * g;
    p.sub_(update * (lr / clamp(root_mean_square(update) / o.d, 1.0)));
  });
}

// ---- Muon

void MuonOptions::check() const {
  INGOT_REQUIRE(lr >= 0, "Learning rate should be >= 0 but is: ", lr);
  INGOT_REQUIRE(momentum >= 0, "momentum should be >= 0 but is: ", momentum);
  INGOT_REQUIRE(weight_decay >= 0, "weight decay should be >= 0 but is: ", weight_decay);
  INGOT_REQUIRE(ns_steps >= 0 && ns_steps < 100, "Number of steps must be less than 100 for computational efficiency, found ",
                ns_steps);
}
std::vector<NamedOption> MuonOptions::named() {
  return {{"lr", &lr},
          {"weight_decay", &weight_decay},
          {"momentum", &momentum},
          {"nesterov", &nesterov},
          {"ns_coefficients.0", &ns_coefficients[0]},
          {"ns_coefficients.1", &ns_coefficients[1]},
          {"ns_coefficients.2", &ns_coefficients[2]},
          {"eps", &eps},
          {"ns_steps", &ns_steps}};
}

namespace {

// About U·Vᵀ of a matrix U·S·Vᵀ: a few steps of Newton-Schulz, in bfloat16 as PyTorch computes
// them.
Tensor orthogonal(const Tensor& m, const MuonOptions& o) {
  const bool is_tall = m.size(0) > m.size(1);
  Tensor x = m.to(bfloat16);
  if (is_tall) x = x.t();
  x = x / clamp(aten<"linalg_vector_norm">(x, 2.0), o.eps);
  const auto [a, b, c] = o.ns_coefficients;
  for (int64_t k = 0; k < o.ns_steps; k++) {
    const Tensor gram = x.mm(x.t());
    const Tensor update = aten<"addmm">(gram, gram, gram, b, c);
    x = aten<"addmm">(x, update, x, a, 1);
  }
  return is_tall ? x.t() : x;
}

double adjusted(double lr, AdjustLr how, const Shape& size) {
  const auto rows = static_cast<double>(size[0].value()), columns = static_cast<double>(size[1].value());
  switch (how) {
    case AdjustLr::original: return lr * std::sqrt(std::max(1.0, rows / columns));
    case AdjustLr::match_rms_adamw: return lr * (0.2 * std::sqrt(std::max(rows, columns)));
    case AdjustLr::spectral_unclamped: return lr * std::sqrt(rows / columns);
  }
  return lr;
}

}  // namespace

Muon::Muon(TensorList parameters, MuonOptions o) : OptimizerOf(std::move(parameters), o, {"momentum_buffer"}, false) {}

void Muon::step() {
  each([&](const MuonOptions& o, std::size_t i, Tensor p, const Tensor& g) {
    INGOT_REQUIRE(p.dim() == 2, "Muon only supports 2D parameters whereas we found a parameter with size: ", p.sizes());
    INGOT_REQUIRE(!p.is_complex(), "Complex parameters are not supported");
    require_dense(g, "Muon");
    Tensor& m = zeros_if_new(states_[i].slots[0], g);
    require_same_dtype(m, p, "Muon", i);
    approach(m, g, 1 - o.momentum);
    const Tensor update = o.nesterov ? aten<"lerp.Scalar">(g, m, Scalar(o.momentum)) : m;
    p.mul_(Scalar(1 - o.lr * o.weight_decay));
    p.add_(orthogonal(update, o), -adjusted(o.lr, o.adjust_lr, p.sizes()));
  });
}

}  // namespace ingot::optim
