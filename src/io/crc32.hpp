// The checksum of zip archives.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ingot {

// CRC-32 of bytes that follow others whose CRC-32 is `before`. Runs at the speed of memory where
// the processor has instructions for it; whole weight files are checked with it.
uint32_t crc32_of(const void* data, std::size_t size, uint32_t before = 0);
inline uint32_t crc32_of(std::string_view bytes, uint32_t before = 0) { return crc32_of(bytes.data(), bytes.size(), before); }

}  // namespace ingot
