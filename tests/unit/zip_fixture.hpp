// Zip archives written byte by byte, so that a test may make them lie.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "unit/io_fixture.hpp"

namespace ingot {

inline uint32_t crc32(std::string_view bytes) {
  uint32_t crc = ~0u;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  return ~crc;
}

// One entry of a zip, whose fields a test may make lie.
struct ZipEntry {
  std::string name, content;
  uint16_t method = 0, flags = 0;
  uint32_t crc, packed, size, offset = 0;
  ZipEntry(std::string n, std::string c)
      : name(std::move(n)), content(std::move(c)), crc(crc32(content)),
        packed(static_cast<uint32_t>(content.size())), size(packed) {}
  std::string fields() const {
    return le<uint16_t>(20) + le(flags) + le(method) + le<uint16_t>(0) + le<uint16_t>(33) + le(crc) + le(packed) +
           le(size) + le<uint16_t>(name.size()) + le<uint16_t>(0);
  }
};

inline std::string zip(std::vector<ZipEntry> entries) {
  std::string out, directory;
  for (ZipEntry& e : entries) {
    e.offset += static_cast<uint32_t>(out.size());
    out += "PK\3\4" + e.fields() + e.name + e.content;
    directory += "PK\1\2" + le<uint16_t>(20) + e.fields() + std::string(10, '\0') + le(e.offset) + e.name;
  }
  const uint16_t count = static_cast<uint16_t>(entries.size());
  return out + directory + "PK\5\6" + le<uint32_t>(0) + le(count) + le(count) + le<uint32_t>(directory.size()) +
         le<uint32_t>(out.size()) + le<uint16_t>(0);
}

}  // namespace ingot
