#include "backend/cpu/machine.hpp"

namespace ingot::cpu {

Machine machine_of(const Target& target) {
  const int lanes = vector_bits(target) / 32;
  if (arch_of(target) == Arch::aarch64) return {lanes, {{8, 3}, {12, 2}, {6, 4}}};  // 24 of 32 registers hold sums
  if (has_feature(target, "avx512f")) return {lanes, {{12, 2}, {8, 3}}};  // 24 of 32
  if (has_feature(target, "fma")) return {lanes, {{6, 2}, {4, 3}}};  // 12 of 16
  return {lanes, {{4, 2}}};  // 8 of 16: a product needs one more
}

}  // namespace ingot::cpu
