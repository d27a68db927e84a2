#include "graph/save_policy.hpp"

#include <atomic>
#include <utility>

namespace ingot {
namespace {

thread_local std::shared_ptr<const SavePolicy> innermost;
std::atomic<int> last_region = 0;

SavePolicy enclosing() { return innermost ? *innermost : SavePolicy{}; }

std::shared_ptr<const SavePolicy> region(Keep keep) {
  SavePolicy p = enclosing();
  p.keep = keep;
  if (keep == Keep::recompute) p.region = ++last_region;
  return std::make_shared<const SavePolicy>(p);
}
std::shared_ptr<const SavePolicy> with_budget(double ratio) {
  SavePolicy p = enclosing();
  p.memory_budget = ratio;
  return std::make_shared<const SavePolicy>(p);
}

}  // namespace

const std::shared_ptr<const SavePolicy>& current_save_policy() { return innermost; }

SavePolicyScope::SavePolicyScope(std::shared_ptr<const SavePolicy> policy) : set_(policy != nullptr) {
  if (set_) old_ = std::exchange(innermost, std::move(policy));
}
SavePolicyScope::~SavePolicyScope() {
  if (set_) innermost = std::move(old_);
}

CheckpointScope::CheckpointScope(Keep keep) : scope_(region(keep)) {}
MemoryBudgetScope::MemoryBudgetScope(double ratio) : scope_(with_budget(ratio)) {}

}  // namespace ingot
