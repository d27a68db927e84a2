// Memory of the CPU, without the way through its driver (tensor/device.hpp), which calls the same
// functions: storages are made all the time.
#pragma once
#include <cstddef>
#include <cstdlib>

#include "base/error.hpp"

namespace ingot {

inline constexpr std::size_t kCpuAlignment = 64;

constexpr std::size_t aligned_size(std::size_t bytes) { return (bytes + kCpuAlignment - 1) / kCpuAlignment * kCpuAlignment; }

inline void* allocate_on_cpu(std::size_t bytes) {
  void* p = std::aligned_alloc(kCpuAlignment, aligned_size(bytes));
  INGOT_REQUIRE(p != nullptr, "out of memory: could not allocate ", bytes, " bytes");
  return p;
}
inline void free_on_cpu(void* p) noexcept { std::free(p); }

}  // namespace ingot
