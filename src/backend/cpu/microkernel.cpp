#include "backend/cpu/microkernel.hpp"

#include <algorithm>
#include <string_view>

#include "base/dtype.hpp"
#include "base/error.hpp"

namespace ingot::cpu {
namespace {

struct Row {
  std::string_view instruction;
  loop::ProductTypes types;
  Arch arch;
  std::string_view feature;  // that a processor must have; empty: none
  struct {
    int rows, vectors;  // vectors of columns; no rows: no block
  } blocks[3];
};

constexpr loop::ProductTypes kFloat{DType::f32, DType::f32, DType::f32};

// Of a type, the first row that fits is taken.
constexpr Row kTable[] = {
    {"fma", kFloat, Arch::aarch64, "", {{8, 3}, {12, 2}, {6, 4}}},  // 24 of 32 registers hold sums
    {"fma", kFloat, Arch::x86_64, "avx512f", {{12, 2}, {8, 3}}},    // 24 of 32
    {"fma", kFloat, Arch::x86_64, "fma", {{6, 2}, {4, 3}}},         // 12 of 16
    {"mul_add", kFloat, Arch::x86_64, "", {{4, 2}}},                // 8 of 16: a product needs one more
};

}  // namespace

std::vector<Microkernel> microkernels(const Target& target) {
  std::vector<Microkernel> all;
  for (const Row& row : kTable) {
    const bool fits = row.arch == arch_of(target) && (row.feature.empty() || has_feature(target, row.feature));
    if (!fits || std::ranges::find(all, row.types, &Microkernel::types) != all.end()) continue;
    const int lanes = vector_bits(target) / 8 / static_cast<int>(size_of(row.types.sums));
    for (const auto& b : row.blocks) {
      if (b.rows == 0) continue;
      const int columns = b.vectors * lanes;
      all.push_back({text(row.instruction, ".", b.rows, "x", columns), row.types, b.rows, columns});
    }
  }
  return all;
}

std::vector<Microkernel> microkernels(const Target& target, const loop::ProductTypes& types) {
  std::vector<Microkernel> own = microkernels(target);
  std::erase_if(own, [&](const Microkernel& m) { return m.types != types; });
  return own;
}

}  // namespace ingot::cpu
