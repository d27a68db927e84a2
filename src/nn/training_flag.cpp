#include "nn/training_flag.hpp"

#include <algorithm>

namespace ingot::nn {
namespace {

thread_local constinit TrainingReads* innermost = nullptr;

}  // namespace

TrainingReads::TrainingReads() : outer_(innermost) { innermost = this; }
TrainingReads::~TrainingReads() { innermost = outer_; }

std::vector<Ref<TrainingFlag>> TrainingReads::flags() const {
  std::vector<Ref<TrainingFlag>> there = flags_;
  std::erase_if(there, [](const Ref<TrainingFlag>& f) { return f->state() == TrainingFlag::State::gone; });
  return there;
}

bool TrainingReads::any() { return innermost != nullptr; }

void TrainingReads::note(const Ref<TrainingFlag>& flag) {
  for (TrainingReads* r = innermost; r; r = r->outer_)
    if (std::ranges::find(r->flags_, flag) == r->flags_.end()) r->flags_.push_back(flag);
}

}  // namespace ingot::nn
