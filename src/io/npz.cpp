// NumPy's zips of arrays, through libzip.
#include <zip.h>

#include <algorithm>
#include <memory>
#include <set>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "io/dense.hpp"
#include "io/npy.hpp"
#include "io/npy_header.hpp"

namespace ingot {

namespace {

constexpr std::string_view kSuffix = ".npy";
// A byte of deflated data stands for at most 1032; a larger claim is a lie and must not make us allocate.
constexpr uint64_t kBestDeflate = 1032;

struct CloseReader {
  void operator()(zip_t* z) const { zip_discard(z); }
  void operator()(zip_file_t* f) const { zip_fclose(f); }
};
using Archive = std::unique_ptr<zip_t, CloseReader>;
using ArchiveEntry = std::unique_ptr<zip_file_t, CloseReader>;

Archive open_archive(const std::string& path, int flags, std::string_view what) {
  int code = 0;
  Archive archive(zip_open(path.c_str(), flags, &code));
  if (archive) return archive;
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const std::string reason = zip_error_strerror(&error);
  zip_error_fini(&error);
  throw_user_error(text(what, ": ", reason));
}

// Reads one entry of the zip in order. The zip's checksum is verified when the last byte has been read.
class EntryReader {
 public:
  EntryReader(zip_t* archive, uint64_t index, std::string what) : what_(std::move(what)) {
    zip_stat_t stat;
    INGOT_REQUIRE(zip_stat_index(archive, index, 0, &stat) == 0, what_, ": ", zip_strerror(archive));
    constexpr uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    INGOT_REQUIRE((stat.valid & kNeeded) == kNeeded, what_, ": the zip does not say its size");
    const bool encrypted = (stat.valid & ZIP_STAT_ENCRYPTION_METHOD) && stat.encryption_method != ZIP_EM_NONE;
    INGOT_REQUIRE(!encrypted, what_, ": it is encrypted");
    const bool stored = stat.comp_method == ZIP_CM_STORE;
    INGOT_REQUIRE(stored || stat.comp_method == ZIP_CM_DEFLATE, what_, ": its compression method ", stat.comp_method,
                  " is neither stored (0) nor deflated (8)");
    const bool possible = stored ? stat.size == stat.comp_size : stat.size / kBestDeflate <= stat.comp_size;
    INGOT_REQUIRE(possible, what_, ": ", stat.comp_size, stored ? " stored" : " deflated", " bytes cannot hold the ",
                  stat.size, " it should have");
    size_ = stat.size;
    file_.reset(zip_fopen_index(archive, index, 0));
    INGOT_REQUIRE(file_ != nullptr, what_, ": ", zip_strerror(archive));
  }

  const std::string& what() const { return what_; }
  uint64_t size() const { return size_; }

  // Reads up to n bytes; fewer only at the end.
  std::size_t read_some(void* to, std::size_t n) {
    std::size_t done = 0;
    while (done < n) {
      const zip_int64_t got = zip_fread(file_.get(), static_cast<char*>(to) + done, n - done);
      INGOT_REQUIRE(got >= 0, what_, ": ", zip_file_strerror(file_.get()));
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }
  void read(void* to, std::size_t n) {
    const std::size_t got = read_some(to, n);
    INGOT_REQUIRE(got == n, what_, ": it ends ", n - got, " bytes early");
  }
  void require_end() {
    char beyond;
    INGOT_REQUIRE(read_some(&beyond, 1) == 0, what_, ": it goes on behind the array");
  }

 private:
  std::string what_;
  ArchiveEntry file_;
  uint64_t size_ = 0;
};

Tensor read_array(EntryReader entry) {
  std::string header(kNpyPrefix, '\0');
  header.resize(entry.read_some(header.data(), kNpyPrefix));
  const std::size_t begin = npy_header_size(header, entry.what());
  const std::size_t have = header.size();
  INGOT_REQUIRE(begin <= entry.size() && have <= begin, entry.what(), ": its header should have ", begin,
                " bytes, and all of it has ", entry.size());
  header.resize(begin);
  entry.read(header.data() + have, begin - have);
  const NpyHeader h = parse_npy_header(header, entry.what());
  const uint64_t rest = entry.size() - begin;
  INGOT_REQUIRE(rest == static_cast<uint64_t>(h.nbytes), entry.what(), ": the shape ", Shape(h.sizes), " of ", h.dtype,
                " needs ", h.nbytes, " bytes, and ", rest, " follow the header");
  Ref<Storage> storage = Storage::allocate(h.nbytes);
  entry.read(storage->data(), static_cast<std::size_t>(h.nbytes));
  entry.require_end();
  return npy_tensor(h, std::move(storage), entry.what());
}

// libzip makes no file for an archive without entries; this is what such a file is.
constexpr std::string_view kEmptyZip("PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22);

}  // namespace

std::vector<std::pair<std::string, Tensor>> load_npz(const std::string& path) {
  const std::string what = text("bad npz file ", path);
  // Says what is wrong with a path better than libzip does; an empty file would be an empty archive to it.
  INGOT_REQUIRE(MappedFile::open(path)->size() > 0, what, ": it is empty");
  const Archive archive = open_archive(path, ZIP_RDONLY, what);
  std::vector<std::pair<std::string, Tensor>> arrays;
  std::set<std::string> seen;
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < count; i++) {
    const auto index = static_cast<uint64_t>(i);
    const char* const raw = zip_get_name(archive.get(), index, 0);
    INGOT_REQUIRE(raw != nullptr, what, ": entry ", i, ": ", zip_strerror(archive.get()));
    std::string name = raw;
    const std::string where = text(what, ": entry ", shown_name(name));
    INGOT_REQUIRE(name.ends_with(kSuffix), where, " should be an array, with a name that ends in .npy");
    name.resize(name.size() - kSuffix.size());
    INGOT_REQUIRE(seen.insert(name).second, where, " is there twice");
    arrays.emplace_back(std::move(name), read_array(EntryReader(archive.get(), index, where)));
  }
  return arrays;
}

void save_npz(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& tensors, bool compress) {
  const std::string what = text("cannot write npz file ", path);
  struct Item { std::string header; Tensor dense; };
  std::vector<Item> items;  // libzip reads them only when it closes the archive
  const auto sorted = sorted_by_name(tensors, what);
  for (const auto* t : sorted) {
    const std::string where = text(what, ": array ", shown_name(t->first));
    const bool named = !t->first.empty() && t->first.find('\0') == t->first.npos;
    INGOT_REQUIRE(named, where, ": the name is empty or has a zero byte");
    require_bytes(t->second, where);
    items.push_back({npy_header_of(t->second, where), row_major(t->second)});
  }
  PendingFile file(path);
  if (items.empty()) {
    file.write(kEmptyZip);
    file.commit();
    return;
  }

  Archive archive = open_archive(file.temporary(), ZIP_CREATE | ZIP_TRUNCATE, what);
  const auto require = [&](bool ok) { INGOT_REQUIRE(ok, what, ": ", zip_strerror(archive.get())); };
  for (std::size_t i = 0; i < items.size(); i++) {
    Item& item = items[i];
    const auto nbytes = static_cast<uint64_t>(item.dense.numel().value() * item.dense.itemsize());
    const zip_buffer_fragment_t parts[] = {{reinterpret_cast<zip_uint8_t*>(item.header.data()), item.header.size()},
                                           {static_cast<zip_uint8_t*>(item.dense.data_ptr()), nbytes}};
    zip_source_t* const source = zip_source_buffer_fragment(archive.get(), parts, nbytes > 0 ? 2 : 1, 0);
    require(source != nullptr);
    const std::string name = sorted[i]->first + std::string(kSuffix);
    const zip_int64_t index = zip_file_add(archive.get(), name.c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) zip_source_free(source);
    require(index >= 0);
    const auto at = static_cast<uint64_t>(index);
    require(zip_set_file_compression(archive.get(), at, compress ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0) == 0);
    // The first day a zip can name: the same tensors give the same bytes, today and tomorrow.
    constexpr zip_uint16_t kMidnight = 0, kNewYear1980 = (1 << 5) | 1;
    require(zip_file_set_dostime(archive.get(), at, kMidnight, kNewYear1980, 0) == 0);
  }
  require(zip_close(archive.get()) == 0);
  (void)archive.release();  // closing freed it
  file.commit();
}

}  // namespace ingot
