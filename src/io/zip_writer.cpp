#include "io/zip_writer.hpp"

#include <zlib.h>

#include <algorithm>

#include "base/error.hpp"
#include "io/crc32.hpp"
#include "io/dense.hpp"
#include "io/zip_directory.hpp"
#include "io/zip_records.hpp"

namespace ingot {

namespace {

using namespace zip_record;

// Appends numbers in little-endian order.
struct Record {
  std::string bytes;
  explicit Record(std::string_view signature = {}) : bytes(signature) {}
  Record& put(uint64_t v, int size) {
    for (int i = 0; i < size; i++) bytes += static_cast<char>(v >> (8 * i));
    return *this;
  }
  Record& u16(uint64_t v) { return put(v, 2); }
  Record& u32(uint64_t v) { return put(v, 4); }
  Record& u64(uint64_t v) { return put(v, 8); }
  // A field that is too short for its value is full, and the value stands in a ZIP64 record.
  Record& short16(uint64_t v) { return u16(std::min(v, kFull16)); }
  Record& short32(uint64_t v) { return u32(std::min(v, kFull32)); }
};

constexpr uint64_t kVersion = 20, kVersion64 = 45;
// The first day a zip can name: the same content gives the same bytes, today and tomorrow.
constexpr uint64_t kMidnight = 0, kNewYear1980 = (1 << 5) | 1;

std::string deflated(std::span<const std::string_view> parts, const std::string& what) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  struct Stream : z_stream {
    Stream() : z_stream{} {}
    ~Stream() { ::deflateEnd(this); }
  } s;
  constexpr int kNoHeader = -MAX_WBITS, kMemory = 8;
  bool ok = ::deflateInit2(&s, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kNoHeader, kMemory, Z_DEFAULT_STRATEGY) == Z_OK;
  std::string out;
  std::string piece(kPiece, '\0');
  const auto feed = [&](std::string_view from, int flush) {
    s.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(from.data()));  // zlib does not write there
    s.avail_in = static_cast<uInt>(from.size());
    do {
      s.next_out = reinterpret_cast<Bytef*>(piece.data());
      s.avail_out = static_cast<uInt>(kPiece);
      ok = ok && ::deflate(&s, flush) != Z_STREAM_ERROR;
      out.append(piece, 0, kPiece - s.avail_out);
    } while (ok && s.avail_out == 0);
  };
  for (const std::string_view part : parts)
    for (std::size_t at = 0; at < part.size(); at += kPiece) feed(part.substr(at, kPiece), Z_NO_FLUSH);
  feed({}, Z_FINISH);
  INGOT_REQUIRE(ok, what, ": zlib could not deflate it");
  return out;
}

}  // namespace

ZipWriter::ZipWriter(std::string target, std::size_t alignment)
    : file_(target), target_(std::move(target)), alignment_(alignment) {
  file_.sum_into(&sum_);
}

void ZipWriter::write(std::string_view bytes) {
  file_.write(bytes);
  position_ += bytes.size();
}

void ZipWriter::add(std::string_view name, std::span<const std::string_view> parts, bool compress) {
  const std::string what = text("cannot write ", target_, ": entry ", shown_name(name));
  const std::string fault = zip_name_fault(name);
  INGOT_REQUIRE(fault.empty(), what, ": ", fault);
  uint64_t size = 0;
  uint32_t crc = 0;
  for (const std::string_view part : parts) {
    size += part.size();
    crc = crc32_of(part, crc);
  }
  const std::string squeezed = compress ? deflated(parts, what) : std::string();
  const uint64_t packed = compress ? squeezed.size() : size, header = position_;
  const bool wide = size >= kFull32 || packed >= kFull32;

  const auto common = [&](Record& r, std::size_t extra_size) {
    r.u16(wide ? kVersion64 : kVersion)
        .u16(kUtf8Flag)
        .u16(compress ? kDeflated : kStored)
        .u16(kMidnight)
        .u16(kNewYear1980)
        .u32(crc);
    r.u32(wide ? kFull32 : packed).u32(wide ? kFull32 : size).u16(name.size()).u16(extra_size);
  };
  Record extra;
  if (wide) extra.u16(kExtra64).u16(16).u64(size).u64(packed);
  Record local_extra = extra;
  if (alignment_ > 1) {
    constexpr std::size_t kFieldHeader = 4;
    const uint64_t data = header + kLocalSize + name.size() + local_extra.bytes.size() + kFieldHeader;
    const std::size_t padding = (alignment_ - data % alignment_) % alignment_;
    local_extra.bytes += "FB";  // PyTorch's name for such a field
    local_extra.u16(padding).bytes.append(padding, 'Z');
  }
  Record local(kLocal);
  common(local, local_extra.bytes.size());
  write(local.bytes);
  write(name);
  write(local_extra.bytes);
  if (compress) write(squeezed);
  else
    for (const std::string_view part : parts) write(part);

  if (header >= kFull32) {
    if (!wide) extra.u16(kExtra64).u16(8).u64(header);
    else extra = Record().u16(kExtra64).u16(24).u64(size).u64(packed).u64(header);
  }
  Record central(kCentral);
  central.u16(kVersion64);
  common(central, extra.bytes.size());
  central.u16(0).u16(0).u16(0).u32(0).short32(header);  // comment, disk, attributes inside and outside
  directory_.append(central.bytes).append(name).append(extra.bytes);
  count_++;
}

void ZipWriter::finish() {
  write_end(0);
  file_.commit();
}

void ZipWriter::finish_with_checksum(std::string_view words) {
  write_end(words.size() + 2 * sizeof(Checksum::Bytes));
  write(words);
  write(sum_.text());
  file_.commit();
}

void ZipWriter::write_end(std::size_t comment_size) {
  const uint64_t begin = position_, size = directory_.size();
  write(directory_);
  if (count_ >= kFull16 || size >= kFull32 || begin >= kFull32) {
    const uint64_t at = position_;
    constexpr uint64_t kBeforeSize = 12;
    Record end64(kEnd64);
    end64.u64(kEnd64Size - kBeforeSize)
        .u16(kVersion64)
        .u16(kVersion64)
        .u32(0)
        .u32(0)
        .u64(count_)
        .u64(count_)
        .u64(size)
        .u64(begin);
    Record locator(kLocator64);
    locator.u32(0).u64(at).u32(1);
    write(end64.bytes);
    write(locator.bytes);
  }
  Record end(kEnd);
  end.u16(0).u16(0).short16(count_).short16(count_).short32(size).short32(begin).u16(comment_size);
  write(end.bytes);
}

}  // namespace ingot
