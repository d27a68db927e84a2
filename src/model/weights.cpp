#include "model/weights.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#define XXH_VECTOR XXH_SCALAR  // a header of a few kilobytes, once: small code is worth more than speed
#define XXH_NO_STREAM
#include <xxhash.h>

#include "base/process_lock.hpp"
#include "model/error.hpp"

namespace ingot::model {
namespace {

char given_path[1024];  // empty: the file is beside this library
ProcessLock path_lock;

// Those in the library are the same bytes for all containers.
std::atomic<bool> embedded_is_lent{false};
ProcessLock lent_lock;

WeightsVersion version_of(const struct stat& about) {
  return {about.st_dev, about.st_ino, static_cast<uint64_t>(about.st_size), about.st_mtim.tv_sec, about.st_mtim.tv_nsec};
}

// The path of a file beside this library.
bool path_of_weights(const char* name, char* path, size_t most) {
  {
    const ProcessLock::Hold hold(path_lock);
    if (*given_path) return snprintf(path, most, "%s", given_path) > 0;
  }
  Dl_info library{};
  int folder_length = 0;
  if (dladdr(&ingot_the_program, &library) && library.dli_fname) {
    if (const char* slash = strrchr(library.dli_fname, '/')) folder_length = static_cast<int>(slash - library.dli_fname) + 1;
  }
  const int n = snprintf(path, most, "%.*s%s", folder_length, library.dli_fname ? library.dli_fname : "", name);
  return (n > 0 && static_cast<size_t>(n) < most) || fail("the path of the weights file '%s' is too long", name);
}

// A .safetensors file: 8 bytes with the length of the header, the header, the elements.
bool is_the_right_file(const ingot_program& program, const char* data, const char* path) {
  uint64_t length = 0;
  if (program.weights_bytes >= 8) memcpy(&length, data, 8);
  if (program.weights_bytes < 8 || length > program.weights_bytes - 8) {
    return fail("the weights file '%s' is damaged: its header says %llu bytes of %llu", path,
                static_cast<unsigned long long>(length), static_cast<unsigned long long>(program.weights_bytes));
  }
  const uint64_t hash = XXH3_64bits(data, 8 + length);
  return hash == program.weights_hash ||
         fail(
             "the weights file '%s' is not the one this library was compiled with: hash of its header: expected %016llx, found "
             "%016llx. Compile the program again, or give the library its constants with an update",
             path, static_cast<unsigned long long>(program.weights_hash), static_cast<unsigned long long>(hash));
}

}  // namespace

bool Pages::reserve(uint64_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return fail_for_memory(bytes);
  data_ = static_cast<char*>(p);
  bytes_ = bytes;
  return true;
}

bool Pages::map(int file, uint64_t bytes, uint64_t position) {
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE)), before = position % page;
  void* p = mmap(nullptr, before + bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, static_cast<off_t>(position - before));
  if (p == MAP_FAILED)
    return fail("cannot map weights of %llu bytes: %s", static_cast<unsigned long long>(bytes), strerror(errno));
  data_ = static_cast<char*>(p) + before;
  before_ = before;
  bytes_ = before + bytes;
  return true;
}

void Pages::drop() {
  if (data_) munmap(data_ - before_, bytes_);
  data_ = nullptr;
  before_ = 0;
}

void Pages::forget(char* from, uint64_t bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)), begin = reinterpret_cast<uintptr_t>(from);
  const uintptr_t first = (begin + page - 1) / page * page, end = (begin + bytes) / page * page;
  if (from && first < end) madvise(from + (first - begin), end - first, MADV_DONTNEED);
}

void Weights::lend() const {
  const ProcessLock::Hold hold(lent_lock);
  (is_shared_ ? embedded_is_lent : is_lent_).store(true, std::memory_order_relaxed);
}

bool Weights::is_lent() const { return (is_shared_ ? embedded_is_lent : is_lent_).load(std::memory_order_relaxed); }

void Weights::forget_read() const {
  const ProcessLock::Hold hold(lent_lock);
  if (!is_lent()) Pages::forget(start_, bytes_);
}

// The area at the end of this library's own file.
bool Weights::open_appended(const ingot_program& program) {
  constexpr uint64_t kUnit = 16384, kMark = sizeof(uint64_t);
  Dl_info library{};
  if (!dladdr(&ingot_the_program, &library) || !library.dli_fname)
    return fail("cannot find the weights: the loader does not say which file this library is");
  const char* path = library.dli_fname;
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return fail("cannot open '%s' for its weights: %s", path, strerror(errno));
  struct stat about{};
  const uint64_t total = program.weights_bytes;
  const uint64_t size = fstat(file, &about) == 0 ? static_cast<uint64_t>(about.st_size) : 0;
  bool is_well = false;
  if (total < kMark || size < total) {
    fail("Weights data seems corrupt: '%s' has %llu bytes, its weights alone are %llu", path,
         static_cast<unsigned long long>(size), static_cast<unsigned long long>(total));
  } else if ((size - total) % kUnit != 0) {
    fail("weights_offset must be aligned to 16K boundary: those of '%s' begin at byte %llu", path,
         static_cast<unsigned long long>(size - total));
  } else if (pages_.map(file, total, size - total)) {
    uint64_t mark = 0;
    memcpy(&mark, pages_.data() + total - kMark, kMark);
    is_well = mark == program.weights_hash ||
              fail("Weights data seems corrupt: expected '%s' to end in %016llx, found %016llx", path,
                   static_cast<unsigned long long>(program.weights_hash), static_cast<unsigned long long>(mark));
  }
  close(file);
  if (is_well) start_ = pages_.data();
  version_ = version_of(about);
  return is_well;
}

bool Weights::set_file(const char* path) {
  const size_t length = strlen(path);
  if (length == 0 || length >= sizeof given_path)
    return fail("the path of the weights file: expected 1 to %zu bytes, found %zu", sizeof given_path - 1, length);
  const ProcessLock::Hold hold(path_lock);
  memcpy(given_path, path, length + 1);
  return true;
}

bool Weights::open(const ingot_program& program) {
  if (program.weights == INGOT_WEIGHTS_NONE) return true;
  bytes_ = program.weights_bytes;
  if (program.weights == INGOT_WEIGHTS_EMBEDDED) {
    start_ = program.embedded;
    is_shared_ = true;
    return true;
  }
  if (program.weights == INGOT_WEIGHTS_APPENDED) return open_appended(program);

  char path[sizeof missing_file_];
  if (!path_of_weights(program.external_file, path, sizeof path)) return false;
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) {
    strcpy(missing_file_, path);
    return true;
  }
  if (file < 0) return fail("cannot open the weights file '%s': %s", path, strerror(errno));
  struct stat about{};
  const bool is_known = fstat(file, &about) == 0;
  bool is_well = false;
  if (!is_known || static_cast<uint64_t>(about.st_size) != program.weights_bytes) {
    fail("the weights file '%s' is not the one this library was compiled with: size: expected %llu bytes, found %lld", path,
         static_cast<unsigned long long>(program.weights_bytes), static_cast<long long>(about.st_size));
  } else {
    is_well = pages_.map(file, program.weights_bytes) && is_the_right_file(program, pages_.data(), path);
  }
  close(file);
  if (is_well) start_ = pages_.data();
  version_ = version_of(about);
  return is_well;
}

}  // namespace ingot::model
