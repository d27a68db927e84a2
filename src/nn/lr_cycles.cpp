// Schedulers that move the momentum with the learning rate, and those that drive others.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/error.hpp"
#include "ingot/optim/lr_scheduler.hpp"

namespace ingot::optim {
namespace {

// What a cycle moves beside the learning rate: the momentum, or Adam's first beta.
std::string momentum_name(const Optimizer& optimizer) {
  for (const char* name : {"betas.0", "momentum"})
    if (optimizer.has_option(0, name)) return name;
  INGOT_REQUIRE(false, "optimizer must support momentum or beta1 with `cycle_momentum` option enabled");
}
void set_momentum(Optimizer& optimizer, double momentum) {
  const std::string name = momentum_name(optimizer);
  for (std::size_t group = 0; group < optimizer.groups(); group++) optimizer.set_option(group, name, momentum);
}

}  // namespace

OneCycleLR::OneCycleLR(Optimizer& optimizer, PerGroup max_lr, OneCycleOptions o)
    : LRScheduler(optimizer), o_(o), max_lrs_(max_lr.of(optimizer, "max_lr")) {
  INGOT_REQUIRE(o.total_steps > 0, "Expected positive integer total_steps, but got ", o.total_steps);
  INGOT_REQUIRE(o.pct_start >= 0 && o.pct_start <= 1, "Expected float between 0 and 1 pct_start, but got ", o.pct_start);
  for (std::size_t group = 0; group < optimizer.groups(); group++) optimizer.initial_lr(group) = max_lrs_[group] / o.div_factor;
  if (o.cycle_momentum) set_momentum(optimizer, o.max_momentum);
  begin();
}

std::vector<double> OneCycleLR::rates() {
  INGOT_REQUIRE(last_epoch_ <= o_.total_steps, "Tried to step ", last_epoch_, " times. The specified number of total steps is ",
                o_.total_steps);
  // Ends of phases, and what each goes from and to.
  enum Level { kInitial, kMost, kLeast };
  struct Phase {
    double end;
    Level from, to;
  };
  const auto total = static_cast<double>(o_.total_steps), now = static_cast<double>(last_epoch_), warm = o_.pct_start * total;
  std::vector<Phase> phases = {{warm - 1, kInitial, kMost}};
  if (o_.three_phase) phases.push_back({2 * warm - 2, kMost, kInitial});
  phases.push_back({total - 1, o_.three_phase ? kInitial : kMost, kLeast});
  std::size_t k = 0;
  while (k + 1 < phases.size() && now > phases[k].end) k++;
  const double start = k ? phases[k - 1].end : 0, part = (now - start) / (phases[k].end - start);
  const auto between = [&](double from, double to) {
    if (o_.linear) return (to - from) * part + from;
    return to + (from - to) / 2 * (std::cos(std::numbers::pi * part) + 1);
  };
  std::vector<double> r;
  for (std::size_t group = 0; group < base_lrs_.size(); group++) {
    const double initial = base_lrs_[group], levels[] = {initial, max_lrs_[group], initial / o_.final_div_factor};
    r.push_back(between(levels[phases[k].from], levels[phases[k].to]));
  }
  const auto momentum = [&](Level l) { return l == kMost ? o_.base_momentum : o_.max_momentum; };
  if (o_.cycle_momentum) set_momentum(optimizer_, between(momentum(phases[k].from), momentum(phases[k].to)));
  return r;
}

CyclicLR::CyclicLR(Optimizer& optimizer, PerGroup base_lr, PerGroup max_lr, CyclicOptions o)
    : LRScheduler(optimizer), o_(o), max_lrs_(max_lr.of(optimizer, "max_lr")) {
  INGOT_REQUIRE(o.step_size_up > 0 && o.step_size_down.value_or(1) > 0, "CyclicLR: expected positive step sizes, found ",
                o.step_size_up, " and ", o.step_size_down.value_or(o.step_size_up));
  const std::vector<double> base = base_lr.of(optimizer, "base_lr");
  set(base);
  if (o.cycle_momentum) set_momentum(optimizer, o.max_momentum);
  begin();
  base_lrs_ = base;  // whatever an earlier scheduler began with
  set(rates());
}

std::vector<double> CyclicLR::rates() {
  const auto up = static_cast<double>(o_.step_size_up), now = static_cast<double>(last_epoch_),
             total = up + static_cast<double>(o_.step_size_down.value_or(o_.step_size_up)), ratio = up / total;
  const double cycle = std::floor(1 + now / total), x = 1 + now / total - cycle;
  double height = x <= ratio ? x / ratio : (x - 1) / (ratio - 1);
  if (o_.mode == CyclicMode::triangular2) height /= std::pow(2, cycle - 1);
  if (o_.mode == CyclicMode::exp_range) height *= std::pow(o_.gamma, now);
  std::vector<double> r;
  for (std::size_t group = 0; group < base_lrs_.size(); group++)
    r.push_back(base_lrs_[group] + (max_lrs_[group] - base_lrs_[group]) * height);
  if (o_.cycle_momentum) set_momentum(optimizer_, o_.max_momentum - (o_.max_momentum - o_.base_momentum) * height);
  return r;
}

// ---- by a measure

ReduceLROnPlateau::ReduceLROnPlateau(Optimizer& optimizer, PlateauOptions o)
    : LRScheduler(optimizer), o_(std::move(o)), min_lrs_(o_.min_lr.of(optimizer, "min_lr")),
      best_(o_.max ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity()) {
  INGOT_REQUIRE(o_.factor < 1, "Factor should be < 1.0, found ", o_.factor);
  last_epoch_ = 0;
}
void ReduceLROnPlateau::step() {
  INGOT_REQUIRE(false, "ReduceLROnPlateau: step() needs the measure that it judges by: step(loss)");
}
void ReduceLROnPlateau::step(double measure) {
  last_epoch_++;
  const double margin = o_.max ? o_.threshold : -o_.threshold;
  const double bar = o_.absolute ? best_ + margin : best_ * (1 + margin);
  if (o_.max ? measure > bar : measure < bar) {
    best_ = measure;
    bad_epochs_ = 0;
  } else {
    bad_epochs_++;
  }
  if (cooldown_left_ > 0) {
    cooldown_left_--;
    bad_epochs_ = 0;
  }
  if (bad_epochs_ <= o_.patience) return;
  for (std::size_t group = 0; group < optimizer_.groups(); group++) {
    const double old = optimizer_.lr(group), lower = std::max(old * o_.factor, min_lrs_.at(group));
    if (old - lower > o_.eps) optimizer_.set_lr(group, lower);
  }
  cooldown_left_ = o_.cooldown;
  bad_epochs_ = 0;
}
std::vector<LRScheduler::Number> ReduceLROnPlateau::numbers() {
  return {
      {"last_epoch", &last_epoch_}, {"best", &best_}, {"cooldown_counter", &cooldown_left_}, {"num_bad_epochs", &bad_epochs_}};
}

// ---- of others

static void check_parts(const Schedulers& schedulers, const char* name) {
  INGOT_REQUIRE(!schedulers.empty(), name, " expects at least one scheduler, but got no scheduler.");
  for (std::size_t i = 0; i < schedulers.size(); i++) {
    INGOT_REQUIRE(schedulers[i], name, ": scheduler ", i, " is missing");
    INGOT_REQUIRE(!dynamic_cast<ReduceLROnPlateau*>(schedulers[i].get()), name,
                  " does not support ReduceLROnPlateau, whose step() needs a measure, but got one at index ", i);
  }
}
static std::vector<LRScheduler*> pointers(const Schedulers& schedulers) {
  std::vector<LRScheduler*> r;
  for (const auto& s : schedulers) r.push_back(s.get());
  return r;
}

SequentialLR::SequentialLR(Optimizer& optimizer, Schedulers schedulers, std::vector<int64_t> milestones)
    : LRScheduler(optimizer), schedulers_(std::move(schedulers)), milestones_(std::move(milestones)) {
  check_parts(schedulers_, "SequentialLR");
  INGOT_REQUIRE(milestones_.size() + 1 == schedulers_.size(), "SequentialLR expects one milestone fewer than schedulers, found ",
                milestones_.size(), " and ", schedulers_.size());
  last_epoch_ = 0;
  // Each scheduler has made its first step when it was made: only the first one's counts.
  for (std::size_t group = 0; group < optimizer.groups(); group++)
    optimizer.set_lr(group, optimizer.initial_lr(group).value_or(optimizer.lr(group)));
  undo();
  schedulers_[0]->begin_again();
}
void SequentialLR::step() {
  last_epoch_++;
  const auto k = static_cast<std::size_t>(std::ranges::upper_bound(milestones_, last_epoch_) - milestones_.begin());
  if (k > 0 && milestones_[k - 1] == last_epoch_) schedulers_[k]->restart();
  else schedulers_[k]->step();
}
std::vector<LRScheduler*> SequentialLR::parts() { return pointers(schedulers_); }

ChainedScheduler::ChainedScheduler(Optimizer& optimizer, Schedulers schedulers)
    : LRScheduler(optimizer), schedulers_(std::move(schedulers)) {
  check_parts(schedulers_, "ChainedScheduler");
}
void ChainedScheduler::step() {
  for (const auto& s : schedulers_) s->step();
}
std::vector<LRScheduler*> ChainedScheduler::parts() { return pointers(schedulers_); }

}  // namespace ingot::optim
