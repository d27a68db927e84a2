#include "io/zip.hpp"

#include <zlib.h>

#include <algorithm>

#include "base/error.hpp"
#include "io/crc32.hpp"
#include "io/dense.hpp"
#include "io/file.hpp"

namespace ingot {

namespace {

// Inflates `packed` to exactly `size` bytes at `to`. zlib counts in 32 bits: both sides are fed in
// pieces.
void inflate_to(char* to, uint64_t size, std::string_view packed, const std::string& what) {
  constexpr uint64_t kPiece = 1u << 30;
  struct Stream : z_stream {
    Stream() : z_stream{} {}
    ~Stream() { ::inflateEnd(this); }
  } s;
  constexpr int kNoHeader = -MAX_WBITS;
  INGOT_REQUIRE(::inflateInit2(&s, kNoHeader) == Z_OK, what, ": zlib could not start to inflate it");
  // One byte more than there should be shows data that goes on.
  char beyond = 0;
  uint64_t done = 0;
  std::size_t fed = 0;
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    const uint64_t room = size - done, piece = room > 0 ? std::min(room, kPiece) : 1;
    const std::size_t feed = std::min<std::size_t>(packed.size() - fed, kPiece);
    s.next_out = reinterpret_cast<Bytef*>(room > 0 ? to + done : &beyond);
    s.avail_out = static_cast<uInt>(piece);
    s.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + fed));  // zlib does not write there
    s.avail_in = static_cast<uInt>(feed);
    status = ::inflate(&s, Z_NO_FLUSH);
    const std::size_t taken = feed - s.avail_in;
    const uint64_t made = piece - s.avail_out;
    INGOT_REQUIRE(status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR, what,
                  ": it does not inflate: ", s.msg ? s.msg : "zlib failed");
    INGOT_REQUIRE(room > 0 || made == 0, what, ": it inflates to more than the ", size, " bytes it should have");
    INGOT_REQUIRE(status == Z_STREAM_END || taken > 0 || made > 0, what, ": its deflated data is cut short");
    fed += taken;
    done += made;
  }
  INGOT_REQUIRE(done == size, what, ": it inflates to ", done, " bytes, and should have ", size);
  INGOT_REQUIRE(fed == packed.size(), what, ": its deflated data ends ", packed.size() - fed, " bytes early");
}

}  // namespace

ZipReader ZipReader::open(const std::string& path, std::string what) {
  const Ref<MappedFile> file = MappedFile::open(path);
  return over({file->data(), file->size(), file}, std::move(what));
}

ZipReader ZipReader::over(OwnedBytes archive, std::string what) {
  ZipReader r;
  r.what_ = std::move(what);
  r.archive_ = std::move(archive);
  r.by_name_ = read_zip_directory(r.archive_.view(), r.what_);
  for (const ZipMember& m : r.by_name_) r.names_.emplace_back(m.name);
  std::sort(r.by_name_.begin(), r.by_name_.end(), [](const ZipMember& a, const ZipMember& b) { return a.name < b.name; });
  return r;
}

const ZipMember* ZipReader::find(std::string_view name) const {
  const auto it =
      std::lower_bound(by_name_.begin(), by_name_.end(), name, [](const ZipMember& m, std::string_view n) { return m.name < n; });
  return it != by_name_.end() && it->name == name ? &*it : nullptr;
}

const ZipMember& ZipReader::member(std::string_view name) const {
  const ZipMember* m = find(name);
  INGOT_REQUIRE(m != nullptr, what_, ": it has no entry ", shown_name(name));
  return *m;
}

std::string ZipReader::what(std::string_view name) const { return text(what_, ": entry ", shown_name(name)); }

uint64_t ZipReader::size(std::string_view name) const { return member(name).size; }

void ZipReader::check_crc(const ZipMember& m, std::string_view content) const {
  const uint32_t crc = crc32_of(content);
  INGOT_REQUIRE(crc == m.crc, what(m.name), ": its CRC is ", crc, " and should be ", m.crc, ": the file is damaged");
}

OwnedBytes ZipReader::read(std::string_view name) const {
  const ZipMember& m = member(name);
  const std::string_view packed = m.data(archive_.view());
  OwnedBytes out{archive_.data + m.begin, packed.size(), archive_.owner};
  if (m.deflated) {
    const Ref<Storage> inflated = Storage::allocate(static_cast<int64_t>(m.size));
    out = {static_cast<char*>(inflated->data()), m.size, inflated};
    inflate_to(out.data, out.size, packed, what(name));
  }
  check_crc(m, out.view());
  return out;
}

std::string ZipReader::read_text(std::string_view name, uint64_t limit) const {
  // The most repetitive program is deflated to a fiftieth; a bomb of spaces to a thousandth.
  constexpr uint64_t kBestText = 256, kSmallText = 16 << 20;
  const ZipMember& m = member(name);
  INGOT_REQUIRE(m.size <= limit, what(name), ": it has ", m.size, " bytes, and at most ", limit, " are allowed");
  INGOT_REQUIRE(!m.deflated || m.size <= kSmallText || m.size / kBestText <= m.packed, what(name), ": ", m.packed,
                " deflated bytes of text should not inflate to ", m.size);
  const std::string_view packed = m.data(archive_.view());
  std::string out(m.deflated ? std::string(m.size, '\0') : std::string(packed));
  if (m.deflated) inflate_to(out.data(), out.size(), packed, what(name));
  check_crc(m, out);
  return out;
}

Ref<Storage> ZipReader::read_storage(std::string_view name) const {
  constexpr std::size_t kForEveryDType = alignof(double);
  const OwnedBytes bytes = read(name);
  return storage_over(bytes.owner, bytes.data, static_cast<int64_t>(bytes.size), kForEveryDType);
}

}  // namespace ingot
