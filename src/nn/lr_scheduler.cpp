// What schedulers have in common, and those of one formula.
#include "ingot/optim/lr_scheduler.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.hpp"
#include "nn/named_values.hpp"

namespace ingot::optim {

std::vector<double> PerGroup::of(const Optimizer& optimizer, const char* name) const {
  INGOT_REQUIRE(values_.size() == 1 || values_.size() == optimizer.groups(), name,
                " must have the same length as the optimizer's groups: it has ", values_.size(), " values, the optimizer ",
                optimizer.groups(), " groups");
  return values_.size() == 1 ? std::vector<double>(optimizer.groups(), values_[0]) : values_;
}

// ---- what they have in common

std::vector<double> LRScheduler::last_lr() const { return scaled(1); }
std::vector<double> LRScheduler::scaled(double factor) const {
  std::vector<double> r;
  for (std::size_t group = 0; group < optimizer_.groups(); group++) r.push_back(optimizer_.lr(group) * factor);
  return r;
}
std::vector<double> LRScheduler::base_scaled(double factor) const {
  std::vector<double> r;
  for (const double base : base_lrs_) r.push_back(base * factor);
  return r;
}
void LRScheduler::set(const std::vector<double>& rates) {
  for (std::size_t group = 0; group < rates.size(); group++) optimizer_.set_lr(group, rates[group]);
}

void LRScheduler::begin() {
  base_lrs_.clear();
  for (std::size_t group = 0; group < optimizer_.groups(); group++) {
    std::optional<double>& initial = optimizer_.initial_lr(group);
    if (!initial) initial = optimizer_.lr(group);
    base_lrs_.push_back(*initial);
  }
  begin_again();
}
void LRScheduler::begin_again() {
  steps_ = 0;
  is_initial_ = true;
  step();
  is_initial_ = false;
}
void LRScheduler::step() {
  steps_++;
  last_epoch_++;
  set(rates());
}
void LRScheduler::restart() {
  last_epoch_ = 0;
  set(first_rates());
}
void LRScheduler::undo() {
  const std::vector<LRScheduler*> below = parts();
  if (below.empty()) last_epoch_--;
  for (LRScheduler* s : below) s->undo();
}

std::vector<LRScheduler::Number> LRScheduler::numbers() {
  std::vector<Number> r = {{"last_epoch", &last_epoch_}, {"_step_count", &steps_}};
  for (std::size_t i = 0; i < base_lrs_.size(); i++) r.emplace_back(text("base_lrs.", i), &base_lrs_[i]);
  const std::vector<LRScheduler*> below = parts();
  for (std::size_t i = 0; i < below.size(); i++)
    for (auto& [name, at] : below[i]->numbers()) r.emplace_back(text("_schedulers.", i, ".", name), at);
  return r;
}
nn::NamedTensors LRScheduler::state() const {
  nn::NamedTensors r;
  for (const auto& [name, at] : const_cast<LRScheduler*>(this)->numbers())  // which hands out places to write, too
    r.emplace_back(name, std::visit([](const auto* x) { return nn::value_of(static_cast<double>(*x)); }, at));
  return r;
}
void LRScheduler::load_state(const nn::NamedTensors& values) {
  nn::GivenState given(values, "the scheduler");
  std::vector<double> loaded;
  const std::vector<Number> mine = numbers();
  for (const auto& [name, at] : mine) loaded.push_back(given.number(name));
  given.expect_all_taken();
  for (std::size_t i = 0; i < mine.size(); i++)
    std::visit([&](auto* x) { *x = static_cast<std::decay_t<decltype(*x)>>(loaded[i]); }, mine[i].second);
}

// ---- one formula each

static std::vector<EpochFunction> one_each(const Optimizer& optimizer, std::vector<EpochFunction> f) {
  INGOT_REQUIRE(f.size() == optimizer.groups(), "Expected ", optimizer.groups(), " lr_lambdas, but got ", f.size());
  return f;
}
LambdaLR::LambdaLR(Optimizer& optimizer, EpochFunction f)
    : LambdaLR(optimizer, std::vector<EpochFunction>(optimizer.groups(), f)) {}
LambdaLR::LambdaLR(Optimizer& optimizer, std::vector<EpochFunction> of_group)
    : LRScheduler(optimizer), f_(one_each(optimizer, std::move(of_group))) {
  begin();
}
std::vector<double> LambdaLR::rates() {
  std::vector<double> r = base_lrs_;
  for (std::size_t i = 0; i < r.size(); i++) r[i] *= f_[i](last_epoch_);
  return r;
}
MultiplicativeLR::MultiplicativeLR(Optimizer& optimizer, EpochFunction f)
    : MultiplicativeLR(optimizer, std::vector<EpochFunction>(optimizer.groups(), f)) {}
MultiplicativeLR::MultiplicativeLR(Optimizer& optimizer, std::vector<EpochFunction> of_group)
    : LRScheduler(optimizer), f_(one_each(optimizer, std::move(of_group))) {
  begin();
}
std::vector<double> MultiplicativeLR::rates() {
  std::vector<double> r = last_lr();
  for (std::size_t i = 0; i < r.size() && !is_initial_; i++) r[i] *= f_[i](last_epoch_);
  return r;
}

StepLR::StepLR(Optimizer& optimizer, int64_t step_size, double gamma)
    : LRScheduler(optimizer), step_size_(step_size), gamma_(gamma) {
  INGOT_REQUIRE(step_size > 0, "StepLR: expected a positive step_size, found ", step_size);
  begin();
}
std::vector<double> StepLR::rates() { return scaled(last_epoch_ == 0 || last_epoch_ % step_size_ != 0 ? 1 : gamma_); }

MultiStepLR::MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma)
    : LRScheduler(optimizer), milestones_(std::move(milestones)), gamma_(gamma) {
  begin();
}
std::vector<double> MultiStepLR::rates() {
  return scaled(std::pow(gamma_, static_cast<double>(std::ranges::count(milestones_, last_epoch_))));
}
std::vector<double> MultiStepLR::first_rates() {
  return base_scaled(std::pow(gamma_, static_cast<double>(std::ranges::count_if(milestones_, [](int64_t m) { return m <= 0; }))));
}

ConstantLR::ConstantLR(Optimizer& optimizer, double factor, int64_t total_iters)
    : LRScheduler(optimizer), factor_(factor), total_iters_(total_iters) {
  INGOT_REQUIRE(factor >= 0 && factor <= 1, "Constant multiplicative factor expected to be between 0 and 1, found ", factor);
  begin();
}
std::vector<double> ConstantLR::rates() {
  if (last_epoch_ == 0) return scaled(factor_);
  return scaled(last_epoch_ != total_iters_ ? 1 : 1 / factor_);
}
std::vector<double> ConstantLR::first_rates() { return base_scaled(total_iters_ <= 0 ? 1 : factor_); }

LinearLR::LinearLR(Optimizer& optimizer, double start_factor, double end_factor, int64_t total_iters)
    : LRScheduler(optimizer), start_(start_factor), end_(end_factor), total_iters_(total_iters) {
  INGOT_REQUIRE(start_factor > 0 && start_factor <= 1,
                "Starting multiplicative factor expected to be greater than 0 and less or equal to 1, found ", start_factor);
  INGOT_REQUIRE(end_factor >= 0 && end_factor <= 1, "Ending multiplicative factor expected to be between 0 and 1, found ",
                end_factor);
  begin();
}
std::vector<double> LinearLR::rates() {
  if (last_epoch_ == 0) return scaled(start_);
  if (is_initial_ || last_epoch_ > total_iters_) return last_lr();
  const double change = end_ - start_;
  return scaled(1 + change / (static_cast<double>(total_iters_) * start_ + static_cast<double>(last_epoch_ - 1) * change));
}

ExponentialLR::ExponentialLR(Optimizer& optimizer, double gamma) : LRScheduler(optimizer), gamma_(gamma) { begin(); }
std::vector<double> ExponentialLR::rates() { return scaled(is_initial_ ? 1 : gamma_); }

PolynomialLR::PolynomialLR(Optimizer& optimizer, int64_t total_iters, double power)
    : LRScheduler(optimizer), total_iters_(total_iters), power_(power) {
  INGOT_REQUIRE(total_iters > 0, "PolynomialLR: expected a positive total_iters, found ", total_iters);
  begin();
}
std::vector<double> PolynomialLR::rates() {
  if (is_initial_ || last_epoch_ > total_iters_) return last_lr();
  const auto total = static_cast<double>(total_iters_), epoch = static_cast<double>(last_epoch_);
  return scaled(std::pow((1 - epoch / total) / (1 - (epoch - 1) / total), power_));
}

CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, int64_t t_max, double eta_min)
    : LRScheduler(optimizer), t_max_(t_max), eta_min_(eta_min) {
  INGOT_REQUIRE(t_max > 0, "CosineAnnealingLR: expected a positive T_max, found ", t_max);
  begin();
}
std::vector<double> CosineAnnealingLR::rates() {
  std::vector<double> r = last_lr();
  if (is_initial_) return r;
  const auto t_max = static_cast<double>(t_max_), epoch = static_cast<double>(last_epoch_);
  const auto height = [&](double at) { return 1 + std::cos(std::numbers::pi * at / t_max); };
  for (std::size_t i = 0; i < r.size(); i++) {
    const double range = base_lrs_[i] - eta_min_;
    // From the bottom, where the quotient of two heights has no meaning.
    if ((last_epoch_ - 1 - t_max_) % (2 * t_max_) == 0) r[i] += range * (1 - std::cos(std::numbers::pi / t_max)) / 2;
    else r[i] = height(epoch) / height(epoch - 1) * (r[i] - eta_min_) + eta_min_;
  }
  return r;
}

CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t t_0, int64_t t_mult, double eta_min)
    : LRScheduler(optimizer), t_0_(t_0), t_i_(t_0), t_mult_(t_mult), eta_min_(eta_min) {
  INGOT_REQUIRE(t_0 > 0, "Expected positive integer T_0, but got ", t_0);
  INGOT_REQUIRE(t_mult >= 1, "Expected integer T_mult >= 1, but got ", t_mult);
  begin();
}
std::vector<double> CosineAnnealingWarmRestarts::rates() {
  std::vector<double> r = base_lrs_;
  for (double& x : r) x = eta_min_ + (x - eta_min_) * (1 + std::cos(std::numbers::pi * t_cur_ / static_cast<double>(t_i_))) / 2;
  return r;
}
void CosineAnnealingWarmRestarts::step() {
  if (last_epoch_ < 0) return step(0.0);
  last_epoch_++;
  t_cur_++;
  if (t_cur_ >= static_cast<double>(t_i_)) {
    t_cur_ = std::fmod(t_cur_, static_cast<double>(t_i_));
    t_i_ *= t_mult_;
  }
  set(rates());
}
void CosineAnnealingWarmRestarts::step(double epoch) {
  INGOT_REQUIRE(epoch >= 0, "Expected non-negative epoch, but got ", epoch);
  double begin = 0;
  for (t_i_ = t_0_; epoch >= begin + static_cast<double>(t_i_); t_i_ *= t_mult_) begin += static_cast<double>(t_i_);
  t_cur_ = epoch - begin;
  last_epoch_ = static_cast<int64_t>(std::floor(epoch));
  set(rates());
}
std::vector<LRScheduler::Number> CosineAnnealingWarmRestarts::numbers() {
  std::vector<Number> r = LRScheduler::numbers();
  r.emplace_back("T_cur", &t_cur_);
  r.emplace_back("T_i", &t_i_);
  return r;
}

}  // namespace ingot::optim
