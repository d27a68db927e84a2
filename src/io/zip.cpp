#include "io/zip.hpp"

#include <zip.h>

#include <algorithm>

#include "base/error.hpp"
#include "io/dense.hpp"
#include "io/file.hpp"

namespace ingot {

namespace {

// A byte of deflated data stands for at most 1032, and short data has a fixed cost; a larger claim is a lie and must not
// make us allocate.
constexpr uint64_t kBestDeflate = 1032;
constexpr zip_int64_t kMostEntries = 1'000'000;
constexpr std::size_t kLongestName = 4096;

void check_name(const std::string& name, const std::string& where) {
  INGOT_REQUIRE(!name.empty() && name.size() <= kLongestName, where, ": its name should have 1 to ", kLongestName,
                " bytes, and has ", name.size());
  INGOT_REQUIRE(name.find('\\') == name.npos, where, ": its name has a backslash");
  INGOT_REQUIRE(name.size() < 2 || name[1] != ':', where, ": its name starts with a drive letter");
  std::string_view rest = name;
  while (true) {
    const std::size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    INGOT_REQUIRE(!part.empty() && part != "." && part != "..", where, ": its name has the component '", part, "'");
    if (slash == rest.npos) break;
    rest.remove_prefix(slash + 1);
  }
}

}  // namespace

void ZipEntryReader::Close::operator()(zip_file* f) const { zip_fclose(f); }
void ZipReader::Discard::operator()(zip* z) const { zip_discard(z); }

ZipEntryReader::ZipEntryReader(zip* archive, uint64_t index, std::string what) : what_(std::move(what)) {
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

std::size_t ZipEntryReader::read_some(void* to, std::size_t n) {
  std::size_t done = 0;
  while (done < n) {
    const zip_int64_t got = zip_fread(file_.get(), static_cast<char*>(to) + done, n - done);
    INGOT_REQUIRE(got >= 0, what_, ": ", zip_file_strerror(file_.get()));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void ZipEntryReader::read(void* to, std::size_t n) {
  const std::size_t got = read_some(to, n);
  INGOT_REQUIRE(got == n, what_, ": it ends ", n - got, " bytes early");
}

void ZipEntryReader::require_end() {
  char beyond;
  INGOT_REQUIRE(read_some(&beyond, 1) == 0, what_, ": it goes on behind its end");
}

ZipReader ZipReader::open(const std::string& path, std::string what) {
  // Says what is wrong with a path better than libzip does; an empty file would be an empty archive to it.
  const std::size_t file_size = MappedFile::open(path)->size();
  ZipReader r;
  r.what_ = std::move(what);
  INGOT_REQUIRE(file_size > 0, r.what_, ": it is empty");
  int code = 0;
  r.archive_.reset(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!r.archive_) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    throw_user_error(text(r.what_, ": ", reason));
  }
  const zip_int64_t count = zip_get_num_entries(r.archive_.get(), 0);
  INGOT_REQUIRE(count <= kMostEntries, r.what_, ": it has ", count, " entries, and at most ", kMostEntries, " are allowed");
  std::vector<uint64_t> indices;
  for (zip_int64_t i = 0; i < count; i++) {
    const auto index = static_cast<uint64_t>(i);
    const char* const raw = zip_get_name(r.archive_.get(), index, 0);
    INGOT_REQUIRE(raw != nullptr, r.what_, ": entry ", i, ": ", zip_strerror(r.archive_.get()));
    std::string name = raw;
    if (name.ends_with('/')) continue;
    r.names_.push_back(std::move(name));
    indices.push_back(index);
  }
  for (std::size_t k = 0; k < indices.size(); k++) r.by_name_.emplace_back(r.names_[k], indices[k]);
  std::sort(r.by_name_.begin(), r.by_name_.end());
  const auto twice = std::adjacent_find(r.by_name_.begin(), r.by_name_.end(),
                                        [](const auto& a, const auto& b) { return a.first == b.first; });
  INGOT_REQUIRE(twice == r.by_name_.end(), r.what_, ": entry ", shown_name(twice->first), " is there twice");
  return r;
}

void ZipReader::require_plain_names() const {
  for (const std::string& name : names_) check_name(name, text(what_, ": entry ", shown_name(name)));
}

int64_t ZipReader::find(std::string_view name) const {
  const auto it = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                   [](const auto& e, std::string_view n) { return e.first < n; });
  return it != by_name_.end() && it->first == name ? static_cast<int64_t>(it->second) : -1;
}

ZipEntryReader ZipReader::entry(std::string_view name) const {
  const int64_t index = find(name);
  INGOT_REQUIRE(index >= 0, what_, ": it has no entry ", shown_name(name));
  return ZipEntryReader(archive_.get(), static_cast<uint64_t>(index), text(what_, ": entry ", shown_name(name)));
}

std::string ZipReader::read_text(std::string_view name) const {
  ZipEntryReader e = entry(name);
  std::string s(e.size(), '\0');
  e.read(s.data(), s.size());
  e.require_end();
  return s;
}

Ref<Storage> ZipReader::read_bytes(std::string_view name) const {
  ZipEntryReader e = entry(name);
  Ref<Storage> storage = Storage::allocate(static_cast<int64_t>(e.size()));
  e.read(storage->data(), e.size());
  e.require_end();
  return storage;
}

}  // namespace ingot
