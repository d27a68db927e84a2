// What the processor of this machine has, as cpu.h numbers it: only what the operating system lets
// programs use.
#pragma once
#include "model/cpu.h"
#include "model/program.h"

namespace ingot::model {

struct CpuFeatures {
  uint64_t words[INGOT_CPU_END / 64] = {};

  bool has(uint64_t id) const { return id < INGOT_CPU_END && (words[id / 64] >> id % 64 & 1); }
  void add(uint64_t id) { words[id / 64] |= uint64_t{1} << id % 64; }
};

CpuFeatures cpu_features();
const char* cpu_feature_name(uint64_t id);  // null: unknown to this runtime

// The first level of the program whose features are all there: its place among them. -1 after a
// failure that says what the file and the machine have.
int64_t choose_level(const ingot_program& program);

}  // namespace ingot::model
