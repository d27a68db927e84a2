#include "backend/cpu/microkernel.hpp"

#include <algorithm>
#include <string_view>

#include "base/dtype.hpp"

namespace ingot::cpu {
namespace {

struct Microkernels {
  loop::ProductTypes types;
  Arch arch;
  std::string_view feature;  // that a processor must have; empty: none
  struct {
    int rows, vectors;  // vectors of columns; no rows: no block
  } blocks[3];
};

constexpr loop::ProductTypes kFloat{DType::f32, DType::f32, DType::f32};

// Of a type, the first row that fits is taken.
constexpr Microkernels kTable[] = {
    {kFloat, Arch::aarch64, "", {{8, 3}, {12, 2}, {6, 4}}},  // 24 of 32 registers hold sums
    {kFloat, Arch::x86_64, "avx512f", {{12, 2}, {8, 3}}},    // 24 of 32
    {kFloat, Arch::x86_64, "fma", {{6, 2}, {4, 3}}},         // 12 of 16
    {kFloat, Arch::x86_64, "", {{4, 2}}},                    // 8 of 16: a product needs one more
};

}  // namespace

std::vector<loop::Microkernel> microkernels(const Target& target) {
  std::vector<loop::Microkernel> all;
  for (const Microkernels& m : kTable) {
    const bool fits = m.arch == arch_of(target) && (m.feature.empty() || has_feature(target, m.feature));
    if (!fits || std::ranges::find(all, m.types, &loop::Microkernel::types) != all.end()) continue;
    const int lanes = vector_bits(target) / 8 / static_cast<int>(size_of(m.types.sums));
    for (const auto& b : m.blocks)
      if (b.rows > 0) all.push_back({m.types, {b.rows, b.vectors * lanes}});
  }
  return all;
}

std::vector<loop::Product::Block> microkernels(const Target& target, const loop::ProductTypes& types) {
  std::vector<loop::Product::Block> blocks;
  for (const loop::Microkernel& m : microkernels(target))
    if (m.types == types) blocks.push_back(m.block);
  return blocks;
}

}  // namespace ingot::cpu
