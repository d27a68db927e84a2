#include "io/cache_folder.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/error.hpp"

namespace ingot {

namespace fs = std::filesystem;

namespace {

// Things on their way in or out. A process that was killed leaves some behind, which go with time.
constexpr const char* kPending = "pending";
constexpr std::chrono::hours kAbandoned{1};

// Others change the folder while it is read: what is gone has no size.
int64_t bytes_of(const fs::path& folder) {
  int64_t total = 0;
  std::error_code gone;
  for (fs::recursive_directory_iterator it(folder, gone), end; !gone && it != end; it.increment(gone)) {
    std::error_code failed;
    const auto size = it->is_regular_file(failed) ? it->file_size(failed) : 0;
    if (!failed) total += static_cast<int64_t>(size);
  }
  return total;
}

struct Thing {
  fs::path path;
  fs::file_time_type used;
  int64_t bytes;
};

std::vector<Thing> things_in(const fs::path& folder) {
  std::vector<Thing> things;
  std::error_code gone;
  for (fs::directory_iterator kind(folder, gone), end; !gone && kind != end; kind.increment(gone)) {
    if (kind->path().filename() == kPending) continue;
    std::error_code none;
    for (fs::directory_iterator it(kind->path(), none); !none && it != end; it.increment(none)) {
      std::error_code failed;
      const auto used = fs::last_write_time(it->path(), failed);
      if (!failed) things.push_back({it->path(), used, bytes_of(it->path())});
    }
  }
  return things;
}

}  // namespace

std::optional<std::string> CacheFolder::find(const std::string& name) const {
  const fs::path thing = fs::path(path_) / name;
  std::error_code failed;
  if (!fs::is_directory(thing, failed)) return {};
  fs::last_write_time(thing, fs::file_time_type::clock::now(), failed);  // a cache that nobody may write still serves
  return thing.string();
}

std::string CacheFolder::pending_name() const {
  static std::atomic<unsigned> next = 0;
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();  // process numbers come again
  return (fs::path(path_) / kPending / text(getpid(), "-", now, "-", next++)).string();
}

// Moved away before it is taken apart: nobody finds half of it.
void CacheFolder::discard(const std::string& folder) const {
  const std::string away = pending_name();
  std::error_code failed;
  if (!fs::exists(folder, failed)) return;
  fs::create_directories(fs::path(away).parent_path(), failed);
  fs::rename(folder, away, failed);
  if (!failed) fs::remove_all(away, failed);
}

void CacheFolder::put(const std::string& name, const std::function<void(const std::string&)>& fill) const {
  const fs::path thing = fs::path(path_) / name;
  const std::string pending = pending_name();
  struct Leave {
    const std::string& folder;
    ~Leave() {
      std::error_code failed;
      fs::remove_all(folder, failed);
    }
  } leave{pending};
  std::error_code failed;
  const auto require = [&] {
    INGOT_REQUIRE(!failed, "the cache ", path_, " cannot be written: ", failed.message(),
                  "; name another folder, or do without a cache");
  };
  fs::create_directories(pending, failed);
  require();
  fill(pending);
  do {
    fs::create_directories(thing.parent_path(), failed);
    require();
    fs::rename(pending, thing, failed);
  } while (failed == std::errc::no_such_file_or_directory && fs::exists(pending));  // somebody cleared the kind
  if (failed == std::errc::directory_not_empty || failed == std::errc::file_exists) failed.clear();  // somebody was faster
  require();
  make_room(thing.string());
}

void CacheFolder::remove(const std::string& name) const { discard((fs::path(path_) / name).string()); }

void CacheFolder::clear(const std::string& kind) const { discard((fs::path(path_) / kind).string()); }

int64_t CacheFolder::bytes() const {
  int64_t total = 0;
  for (const Thing& t : things_in(path_)) total += t.bytes;
  return total;
}

void CacheFolder::make_room(const std::string& keep) const {
  std::error_code failed;
  const auto now = fs::file_time_type::clock::now();
  for (fs::directory_iterator it(fs::path(path_) / kPending, failed), end; !failed && it != end; it.increment(failed)) {
    std::error_code gone;
    if (const auto used = fs::last_write_time(it->path(), gone); !gone && now - used > kAbandoned)
      fs::remove_all(it->path(), gone);
  }
  std::vector<Thing> things = things_in(path_);
  int64_t total = 0;
  for (const Thing& t : things) total += t.bytes;
  std::sort(things.begin(), things.end(), [](const Thing& a, const Thing& b) { return a.used < b.used; });
  for (const Thing& t : things) {
    if (total <= most_bytes_) return;
    if (t.path == keep) continue;
    discard(t.path.string());
    total -= t.bytes;
  }
}

std::string default_cache_folder() {
  if (const char* folder = std::getenv("INGOT_CACHE_DIR"); folder && *folder) return folder;
  if (const char* folder = std::getenv("XDG_CACHE_HOME"); folder && *folder) return (fs::path(folder) / "ingot").string();
  const char* home = std::getenv("HOME");
  INGOT_REQUIRE(home && *home, "no folder for a cache is known: set INGOT_CACHE_DIR, or HOME");
  return (fs::path(home) / ".cache" / "ingot").string();
}

}  // namespace ingot
