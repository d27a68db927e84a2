#include "backend/cpu/microkernel.hpp"

#include <algorithm>
#include <iterator>

#include "base/dtype.hpp"
#include "base/error.hpp"

namespace ingot::cpu {
namespace {

constexpr loop::ProductTypes kFloat{DType::f32, DType::f32, DType::f32};

// A block that is wide for its height reads more columns for each product, and waits for them where
// they come from the second cache, as they mostly do.
constexpr MicrokernelRow kTable[] = {
    {"fma", kFloat, 1, Arch::aarch64, "", {{8, 3}, {12, 2, 102}, {6, 4, 108}}},  // 24 of 32 registers hold sums
    {"fma", kFloat, 1, Arch::x86_64, "avx512f", {{12, 2}, {8, 3, 108}}},         // 24 of 32
    {"fma", kFloat, 1, Arch::x86_64, "fma", {{6, 2}, {4, 3, 108}}},              // 12 of 16
    {"mul_add", kFloat, 1, Arch::x86_64, "", {{4, 2}}},                          // 8 of 16: a product needs one more
};

}  // namespace

std::span<const MicrokernelRow> microkernel_table() { return kTable; }

std::vector<Microkernel> microkernels(const Target& target, std::span<const MicrokernelRow> table) {
  std::vector<Microkernel> all;
  for (const MicrokernelRow& row : table) {
    const bool fits = row.arch == arch_of(target) && (row.feature.empty() || has_feature(target, row.feature));
    if (!fits || std::ranges::find(all, row.types, &Microkernel::types) != all.end()) continue;
    const int lanes = vector_bits(target) / 8 / static_cast<int>(size_of(row.types.sums));
    for (const auto& b : row.blocks) {
      if (b.rows == 0) continue;
      const int columns = b.vectors * lanes;
      all.push_back({text(row.instruction, ".", b.rows, "x", columns), row.types, b.rows, columns, row.k_group, b.cost});
    }
  }
  return all;
}

std::vector<Microkernel> of_types(const std::vector<Microkernel>& all, const loop::ProductTypes& types) {
  std::vector<Microkernel> own;
  std::ranges::copy_if(all, std::back_inserter(own), [&](const Microkernel& m) { return m.types == types; });
  return own;
}

}  // namespace ingot::cpu
