// NumPy's zips of arrays, through libzip.
#include <zip.h>

#include <memory>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "io/dense.hpp"
#include "io/npy.hpp"
#include "io/npy_header.hpp"
#include "io/zip.hpp"

namespace ingot {

namespace {

constexpr std::string_view kSuffix = ".npy";

struct CloseArchive {
  void operator()(zip_t* z) const { zip_discard(z); }
};
using Archive = std::unique_ptr<zip_t, CloseArchive>;

Archive create_archive(const std::string& path, std::string_view what) {
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code));
  if (archive) return archive;
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const std::string reason = zip_error_strerror(&error);
  zip_error_fini(&error);
  throw_user_error(text(what, ": ", reason));
}

Tensor read_array(ZipEntryReader entry) {
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
  const ZipReader zip = ZipReader::open(path, text("bad npz file ", path));
  std::vector<std::pair<std::string, Tensor>> arrays;
  for (const std::string& name : zip.names()) {
    INGOT_REQUIRE(name.ends_with(kSuffix), zip.what(), ": entry ", shown_name(name),
                  " should be an array, with a name that ends in .npy");
    arrays.emplace_back(name.substr(0, name.size() - kSuffix.size()), read_array(zip.entry(name)));
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

  Archive archive = create_archive(file.temporary(), what);
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
