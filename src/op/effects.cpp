#include "op/effects.hpp"

#include <mutex>
#include <set>

namespace ingot {
namespace {

struct Effects {
  std::mutex mutex;
  std::set<std::string, std::less<>> names;
};
Effects& effects() {
  static Effects e;
  return e;
}

}  // namespace

void set_ordered_effect(std::string_view op) {
  const std::lock_guard<std::mutex> lock(effects().mutex);
  effects().names.emplace(op);
}

bool has_ordered_effect(const Op& op) {
  if (op.form() != Form::external) return false;  // asked of every call that is recorded
  const std::lock_guard<std::mutex> lock(effects().mutex);
  return effects().names.contains(op.qualified());
}

}  // namespace ingot
