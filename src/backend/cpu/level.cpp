#include "backend/cpu/level.hpp"

#include "model/cpu.h"

namespace ingot::cpu {

Model::Level level_for(const Target& target) {
  Model::Level level;
  level.target = level.host = target;
  level.name = target.cpu;
  auto add = [&](uint64_t id, const char* feature) {
    if (has_feature(target, feature)) level.features.push_back(id);
  };
#define INGOT_ADD(id, number, feature) add(number, feature);
  if (arch_of(target) == Arch::x86_64) {
    INGOT_CPU_FEATURES_X86_64(INGOT_ADD)
  } else {
    INGOT_CPU_FEATURES_AARCH64(INGOT_ADD)
  }
#undef INGOT_ADD
  return level;
}

}  // namespace ingot::cpu
