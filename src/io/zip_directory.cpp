#include "io/zip_directory.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/error.hpp"
#include "io/dense.hpp"
#include "io/zip_records.hpp"

namespace ingot {

namespace {

using namespace zip_record;

constexpr uint64_t kMostEntries = 1'000'000;
constexpr std::size_t kLongestName = 4096, kLongestComment = 65535;
// A byte of deflated data stands for at most 1032, and short data has a fixed cost; a larger claim
// is a lie and must not make us allocate.
constexpr uint64_t kBestDeflate = 1032, kDeflateSlack = 64 << 10;

// A little-endian number at a place that is known to lie inside.
template <class T>
T number(std::string_view bytes, std::size_t at) {
  T v;
  std::memcpy(&v, bytes.data() + at, sizeof v);
  return v;
}

// Whether [begin, begin + size) lies inside [0, end), for numbers that may be anything.
bool lies_inside(uint64_t begin, uint64_t size, uint64_t end) { return begin <= end && size <= end - begin; }

struct Directory {
  uint64_t count = 0, begin = 0, size = 0;
};

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& what) : bytes_(bytes), what_(what) {}

  std::vector<ZipMember> read() {
    const Directory d = find_directory();
    std::vector<ZipMember> members;
    std::vector<std::string_view> names;
    members.reserve(d.count);
    std::string_view rest = bytes_.substr(d.begin, d.size);
    for (uint64_t i = 0; i < d.count; i++) {
      ZipMember m = read_member(rest, i, d);
      names.push_back(m.name);
      if (!m.name.ends_with('/')) members.push_back(m);
    }
    if (!rest.empty())
      fail("its directory should have ", d.count, " entries in ", d.size, " bytes, and ", rest.size(), " are left");
    require_different(names);
    require_apart(members);
    return members;
  }

 private:
  std::string_view bytes_;
  const std::string& what_;

  template <class... T>
  [[noreturn]] void fail(const T&... parts) const {
    throw_user_error(text(what_, ": ", parts...));
  }
  template <class... T>
  [[noreturn]] void fail_in(std::string_view name, const T&... parts) const {
    fail("entry ", shown_name(name), ": ", parts...);
  }

  bool has(std::string_view signature, uint64_t at) const { return bytes_.substr(at).starts_with(signature); }

  // The last record whose comment reaches exactly to the end of the file.
  uint64_t find_end() const {
    if (bytes_.empty()) fail("it is empty");
    const uint64_t size = bytes_.size();
    for (uint64_t comment = 0; comment <= kLongestComment && kEndSize + comment <= size; comment++) {
      const uint64_t at = size - kEndSize - comment;
      if (has(kEnd, at) && number<uint16_t>(bytes_, at + 20) == comment) return at;
    }
    fail("it is no zip archive, or it is cut short: no end of a zip directory in its last bytes");
  }

  Directory find_directory() const {
    const uint64_t end = find_end();
    Directory d{number<uint16_t>(bytes_, end + 10), number<uint32_t>(bytes_, end + 16), number<uint32_t>(bytes_, end + 12)};
    uint64_t first_disk = number<uint16_t>(bytes_, end + 4), directory_disk = number<uint16_t>(bytes_, end + 6);
    uint64_t count_here = number<uint16_t>(bytes_, end + 8), limit = end;
    if (end >= kLocator64Size && has(kLocator64, end - kLocator64Size)) {
      const uint64_t locator = end - kLocator64Size, at = number<uint64_t>(bytes_, locator + 8);
      if (!lies_inside(at, kEnd64Size, locator) || !has(kEnd64, at))
        fail("its ZIP64 end record should be at byte ", at, ", and is not there");
      const uint64_t record = number<uint64_t>(bytes_, at + 4);
      constexpr uint64_t kBeforeSize = 12;
      if (record < kEnd64Size - kBeforeSize || !lies_inside(at + kBeforeSize, record, locator))
        fail("its ZIP64 end record has a wrong length of ", record, " bytes");
      limit = at;
      const auto widen = [&](uint64_t& field, uint64_t full, uint64_t wide, const char* name) {
        if (field != full && field != wide)
          fail("the two ends of its directory disagree about ", name, ": ", field, " and, in ZIP64, ", wide);
        field = wide;
      };
      widen(first_disk, kFull16, number<uint32_t>(bytes_, at + 16), "the disk's number");
      widen(directory_disk, kFull16, number<uint32_t>(bytes_, at + 20), "the disk of the directory");
      widen(count_here, kFull16, number<uint64_t>(bytes_, at + 24), "the number of entries on this disk");
      widen(d.count, kFull16, number<uint64_t>(bytes_, at + 32), "the number of entries");
      widen(d.size, kFull32, number<uint64_t>(bytes_, at + 40), "the size of the directory");
      widen(d.begin, kFull32, number<uint64_t>(bytes_, at + 48), "the place of the directory");
    }
    if (first_disk != 0 || directory_disk != 0 || count_here != d.count) fail("it is one part of an archive of several files");
    if (d.count > kMostEntries) fail("it has ", d.count, " entries, and at most ", kMostEntries, " are allowed");
    if (!lies_inside(d.begin, d.size, limit))
      fail("its directory of ", d.size, " bytes at byte ", d.begin, " reaches behind byte ", limit, ", where it should end");
    if (d.count > d.size / kCentralSize)
      fail("its directory should have ", d.count, " entries, too many for its ", d.size, " bytes");
    return d;
  }

  // Takes the first entry of `rest` away.
  ZipMember read_member(std::string_view& rest, uint64_t index, const Directory& d) const {
    if (rest.size() < kCentralSize || !rest.starts_with(kCentral))
      fail("its directory should have ", d.count, " entries in ", d.size, " bytes, and entry ", index, " is not there");
    const std::string_view fields = rest.substr(0, kCentralSize);
    const std::size_t name_size = number<uint16_t>(fields, 28), extra_size = number<uint16_t>(fields, 30);
    const std::size_t all = kCentralSize + name_size + extra_size + number<uint16_t>(fields, 32);
    if (all > rest.size()) fail("entry ", index, " of its directory reaches behind the directory's end");
    ZipMember m;
    m.name = rest.substr(kCentralSize, name_size);
    m.crc = number<uint32_t>(fields, 16);
    m.packed = number<uint32_t>(fields, 20);
    m.size = number<uint32_t>(fields, 24);
    m.header = number<uint32_t>(fields, 42);
    const std::string_view extra = rest.substr(kCentralSize + name_size, extra_size);
    rest.remove_prefix(all);

    const std::string fault = zip_name_fault(m.name.ends_with('/') ? m.name.substr(0, m.name.size() - 1) : m.name);
    if (!fault.empty()) fail_in(m.name, fault);
    widen(m, number<uint16_t>(fields, 34), extra);
    check_packing(m, number<uint16_t>(fields, 8), number<uint16_t>(fields, 10));
    locate_data(m, d);
    return m;
  }

  // Fills in the 64 bit numbers of the ZIP64 extra field. It has those whose short fields are full,
  // in a fixed order; some writers put all of them there, and then the others must agree.
  void widen(ZipMember& m, uint64_t disk, std::string_view extra) const {
    std::optional<std::string_view> wide;
    while (extra.size() >= 4) {
      const uint16_t id = number<uint16_t>(extra, 0);
      const std::size_t size = number<uint16_t>(extra, 2);
      if (size > extra.size() - 4) fail_in(m.name, "its extra field ", id, " reaches behind the others' end");
      if (id == kExtra64 && wide) fail_in(m.name, "it has two ZIP64 fields");
      if (id == kExtra64) wide = extra.substr(4, size);
      extra.remove_prefix(4 + size);
    }
    struct Field {
      uint64_t& value;
      const char* name;
    };
    const std::array<Field, 3> numbers{{{m.size, "its size"}, {m.packed, "its packed size"}, {m.header, "its place"}}};
    if (wide) {
      const auto full = [](const Field& f) { return f.value == kFull32; };
      const auto needed = static_cast<std::size_t>(std::count_if(numbers.begin(), numbers.end(), full));
      const bool all = wide->size() >= 8 * needed + 8;
      for (const Field& f : numbers) {
        if (!all && !full(f)) continue;
        if (wide->size() < 8) {
          if (full(f)) fail_in(m.name, "its ZIP64 field is too short");
          break;
        }
        const uint64_t v = number<uint64_t>(*wide, 0);
        wide->remove_prefix(8);
        if (!full(f) && f.value != v)
          fail_in(m.name, "two numbers disagree about ", f.name, ": ", f.value, " and, in ZIP64, ", v);
        f.value = v;
      }
      if (disk == kFull16 && wide->size() >= 4) disk = number<uint32_t>(*wide, 0);
    }
    if (disk != 0) fail_in(m.name, "it lies on part ", disk, " of an archive of several files");
  }

  void check_packing(ZipMember& m, uint16_t flags, uint16_t method) const {
    if (flags & kEncryptedFlag) fail_in(m.name, "it is encrypted (method ", method, ")");
    if (method != kStored && method != kDeflated)
      fail_in(m.name, "its compression method ", method, " is neither stored (0) nor deflated (8)");
    m.deflated = method == kDeflated;
    const uint64_t least = m.size <= kDeflateSlack ? 0 : (m.size - kDeflateSlack - 1) / kBestDeflate + 1;
    if (m.deflated ? m.packed < least : m.packed != m.size)
      fail_in(m.name, m.packed, m.deflated ? " deflated" : " stored", " bytes cannot hold the ", m.size, " it should have");
  }

  // The local header's own name and extra field come before the data, and need not be those of the
  // directory.
  void locate_data(ZipMember& m, const Directory& d) const {
    if (!lies_inside(m.header, kLocalSize, d.begin) || !has(kLocal, m.header))
      fail_in(m.name, "its header should be at byte ", m.header, ", and is not there");
    const uint64_t names = uint64_t{number<uint16_t>(bytes_, m.header + 26)} + number<uint16_t>(bytes_, m.header + 28);
    m.begin = m.header + kLocalSize + names;
    if (!lies_inside(m.begin, m.packed, d.begin))
      fail_in(m.name, "its ", m.packed, " bytes at byte ", m.begin, " reach into the directory at byte ", d.begin,
              " or behind it");
    if (m.name.ends_with('/') && m.size != 0) fail_in(m.name, "it is a folder with ", m.size, " bytes");
  }

  void require_different(std::vector<std::string_view>& names) const {
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) fail("entry ", shown_name(*twice), " is there twice");
  }

  // Entries that share bytes would let a small file stand for any amount of data.
  void require_apart(const std::vector<ZipMember>& members) const {
    std::vector<const ZipMember*> order;
    for (const ZipMember& m : members) order.push_back(&m);
    std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->header < b->header; });
    for (std::size_t i = 1; i < order.size(); i++)
      if (order[i]->header < order[i - 1]->begin + order[i - 1]->packed)
        fail_in(order[i]->name, "it starts at byte ", order[i]->header, ", inside entry ", shown_name(order[i - 1]->name));
  }
};

}  // namespace

std::string zip_name_fault(std::string_view name) {
  if (name.empty() || name.size() > kLongestName)
    return text("its name should have 1 to ", kLongestName, " bytes, and has ", name.size());
  if (name.find('\0') != name.npos) return "its name has a zero byte";
  if (name.find('\\') != name.npos) return "its name has a backslash";
  if (name.size() > 1 && name[1] == ':') return "its name starts with a drive letter";
  while (true) {
    const std::size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return text("its name has the component '", part, "'");
    if (slash == name.npos) return {};
    name.remove_prefix(slash + 1);
  }
}

std::vector<ZipMember> read_zip_directory(std::string_view bytes, const std::string& what) { return Reader(bytes, what).read(); }

}  // namespace ingot
