// Zip archives written byte by byte, so that a test may make them lie.
#pragma once
#include <zlib.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "unit/io_fixture.hpp"

namespace ingot {

// One entry of a zip, whose fields a test may make lie.
struct ZipEntry {
  std::string name, content;
  uint16_t method = 0, flags = 0;
  uint32_t crc, packed, size, offset = 0;  // offset: added to the true one
  uint16_t date = 33, disk = 0;
  std::string central_extra = {}, local_extra = {}, comment = {};
  bool hides_sizes = false;  // the local header has no checksum and sizes, they follow the data
  ZipEntry(std::string n, std::string c)
      : name(std::move(n)), content(std::move(c)),
        crc(static_cast<uint32_t>(::crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()))),
        packed(static_cast<uint32_t>(content.size())), size(packed) {}
  std::string fields(const std::string& extra, bool hidden) const {
    return le<uint16_t>(20) + le(flags) + le(method) + le<uint16_t>(0) + le(date) + le(hidden ? 0 : crc) +
           le(hidden ? 0 : packed) + le(hidden ? 0 : size) + le<uint16_t>(name.size()) + le<uint16_t>(extra.size());
  }
};

// The content deflated, with the sizes that belong to it.
inline ZipEntry deflated_entry(std::string name, const std::string& content) {
  ZipEntry e(std::move(name), content);
  z_stream s{};
  EXPECT_EQ(deflateInit2(&s, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  e.content.assign(deflateBound(&s, content.size()), '\0');
  s.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  s.avail_in = static_cast<uInt>(content.size());
  s.next_out = reinterpret_cast<Bytef*>(e.content.data());
  s.avail_out = static_cast<uInt>(e.content.size());
  EXPECT_EQ(deflate(&s, Z_FINISH), Z_STREAM_END);
  e.content.resize(s.total_out);
  deflateEnd(&s);
  e.packed = static_cast<uint32_t>(e.content.size());
  e.method = 8;
  return e;
}

// The end of an archive, and what a test may make of it.
struct ZipEnd {
  std::string comment = {};
  bool zip64 = false, full = false;               // with a ZIP64 end record; with the short fields full
  int64_t count = 0, size = 0, offset = 0;        // added to the true numbers of the end record
  int64_t count64 = 0, size64 = 0, offset64 = 0;  // added to those of the ZIP64 record
  int64_t record64 = 0;                           // added to the true place of that record
};

inline std::string zip(std::vector<ZipEntry> entries, const ZipEnd& end = {}) {
  std::string out, directory;
  for (ZipEntry& e : entries) {
    e.offset += static_cast<uint32_t>(out.size());
    out += "PK\3\4" + e.fields(e.local_extra, e.hides_sizes) + e.name + e.local_extra + e.content;
    if (e.hides_sizes) out += "PK\7\10" + le(e.crc) + le(e.packed) + le(e.size);
    directory += "PK\1\2" + le<uint16_t>(20) + e.fields(e.central_extra, false) + le<uint16_t>(e.comment.size()) + le(e.disk) +
                 std::string(6, '\0') + le(e.offset) + e.name + e.central_extra + e.comment;
  }
  const auto count = static_cast<int64_t>(entries.size()), size = static_cast<int64_t>(directory.size()),
             offset = static_cast<int64_t>(out.size());
  const int64_t record64 = offset + size + end.record64;
  out += directory;
  if (end.zip64) {
    out += "PK\6\6" + le<uint64_t>(44) + le<uint16_t>(45) + le<uint16_t>(45) + le<uint32_t>(0) + le<uint32_t>(0) +
           le<int64_t>(count + end.count64) + le<int64_t>(count + end.count64) + le<int64_t>(size + end.size64) +
           le<int64_t>(offset + end.offset64);
    out += "PK\6\7" + le<uint32_t>(0) + le<int64_t>(record64) + le<uint32_t>(1);
  }
  const auto count16 = static_cast<uint16_t>(end.full ? 0xFFFF : count + end.count);
  return out + "PK\5\6" + le<uint32_t>(0) + le(count16) + le(count16) +
         le(static_cast<uint32_t>(end.full ? 0xFFFFFFFF : size + end.size)) +
         le(static_cast<uint32_t>(end.full ? 0xFFFFFFFF : offset + end.offset)) + le<uint16_t>(end.comment.size()) + end.comment;
}

}  // namespace ingot
