#include "backend/cpu/transpose.hpp"

#include <numeric>

namespace ingot::cpu {

std::vector<llvm::Value*> transposed(llvm::IRBuilder<>& b, std::vector<llvm::Value*> rows) {
  auto* type = llvm::cast<llvm::FixedVectorType>(rows[0]->getType());
  const std::size_t n = type->getNumElements(), count = rows.size();
  rows.resize(n, llvm::PoisonValue::get(type));
  // Quarters of all blocks of 2*s by 2*s change places, two rows at a time.
  for (std::size_t s = 1; s < n; s *= 2) {
    std::vector<int> low, high;  // of both rows, the second's elements counted on from n
    for (std::size_t k = 0; k < n; k++) {
      low.push_back(static_cast<int>(k & s ? n + k - s : k));
      high.push_back(static_cast<int>(k & s ? n + k : k + s));
    }
    for (std::size_t i = 0; i < n; i++) {
      if (i & s) continue;
      llvm::Value *first = rows[i], *second = rows[i + s];
      rows[i] = b.CreateShuffleVector(first, second, low);
      rows[i + s] = b.CreateShuffleVector(first, second, high);
    }
  }
  if (count == n) return rows;
  std::vector<int> own(count);
  std::iota(own.begin(), own.end(), 0);
  for (llvm::Value*& row : rows) row = b.CreateShuffleVector(row, own);
  return rows;
}

}  // namespace ingot::cpu
