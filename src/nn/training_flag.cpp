#include "nn/training_flag.hpp"

#include <algorithm>

#include "ingot/nn/module.hpp"

namespace ingot::nn {
namespace {

thread_local constinit TrainingReads* innermost = nullptr;
constinit std::atomic<std::size_t> modules = 0;

}  // namespace

TrainingFlag::TrainingFlag() { modules.fetch_add(1, std::memory_order_relaxed); }
void TrainingFlag::set(bool is_training) {
  state_.store(is_training ? State::training : State::evaluating, std::memory_order_relaxed);
  for (TrainingReads* r = innermost; r; r = r->outer_) r->set_.push_back(this);
}
void TrainingFlag::end() {
  state_.store(State::gone, std::memory_order_relaxed);
  modules.fetch_sub(1, std::memory_order_relaxed);
}
std::size_t TrainingFlag::modules_there() { return modules.load(std::memory_order_relaxed); }

void TrainingFlags::add(const std::vector<const Module*>& added) {
  for (const Module* m : added)
    if (std::ranges::find(flags_, m->training_flag()) == flags_.end()) flags_.push_back(m->training_flag());
}

TrainingReads::TrainingReads() : outer_(innermost) { innermost = this; }
TrainingReads::~TrainingReads() { innermost = outer_; }

std::vector<TrainingRead> TrainingReads::reads() const {
  std::vector<TrainingRead> there;
  for (const TrainingRead& r : reads_) {
    const TrainingFlag::State now = r.flag->state();
    if (now == TrainingFlag::State::gone) continue;
    const bool is_set = std::ranges::find(set_, r.flag.get()) != set_.end();
    there.push_back({r.flag, is_set ? now : r.state});
  }
  return there;
}

bool TrainingReads::any() { return innermost != nullptr; }

void TrainingReads::note(const Ref<TrainingFlag>& flag, TrainingFlag::State state) {
  for (TrainingReads* r = innermost; r; r = r->outer_) {
    const auto known = std::ranges::find(r->reads_, flag, &TrainingRead::flag);
    if (known == r->reads_.end()) r->reads_.push_back({flag, state});
    else known->state = state;
  }
}

}  // namespace ingot::nn
