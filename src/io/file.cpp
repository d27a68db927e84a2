#include "io/file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "base/checksum.hpp"
#include "base/error.hpp"

namespace ingot {

namespace {

std::string reason() { return std::generic_category().message(errno); }

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

// Whether all bytes were written; otherwise errno says why.
bool write_all(int fd, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t n = ::write(fd, data, std::min<std::size_t>(size, std::size_t{1} << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    data += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Ref<MappedFile> MappedFile::open(const std::string& path, Access access) {
  // Not blocking, so that a named pipe without a writer gets its error and not a hanging process.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  INGOT_REQUIRE(file.fd >= 0, "cannot open ", path, ": ", reason());
  struct stat info;
  INGOT_REQUIRE(::fstat(file.fd, &info) == 0, "cannot read ", path, ": ", reason());
  INGOT_REQUIRE(S_ISREG(info.st_mode), "cannot read ", path, ": expected a regular file, found ",
                S_ISDIR(info.st_mode) ? "a directory" : "a device or a pipe");
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return Ref<MappedFile>(new MappedFile(path, nullptr, 0));
  // Without reservation: private pages cost memory only once they are written, and weights may be
  // larger than memory.
  const int protection = access == Access::read_only ? PROT_READ : PROT_READ | PROT_WRITE;
  void* data = ::mmap(nullptr, size, protection, MAP_PRIVATE | MAP_NORESERVE, file.fd, 0);
  INGOT_REQUIRE(data != MAP_FAILED, "cannot map ", path, " (", size, " bytes): ", reason());
  return Ref<MappedFile>(new MappedFile(path, static_cast<char*>(data), size));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

ReplacedFile replaced_file(const std::string& path) {
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0) return {path, {}};
  // Through links: what they lead to is written, and in its own folder, where it can be renamed.
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  INGOT_REQUIRE(real != nullptr && ::stat(real.get(), &info) == 0, "cannot write ", path, ": ", reason(),
                " while following the link");
  INGOT_REQUIRE(S_ISREG(info.st_mode), "cannot write ", path, ": expected a regular file there, found ",
                S_ISDIR(info.st_mode) ? "a directory" : "a device or a pipe");
  return {real.get(), info.st_mode & 07777u};
}

PendingFile::PendingFile(std::string target) : target_(std::move(target)) {
  ReplacedFile replaced = replaced_file(target_);
  target_ = std::move(replaced.path);
  mode_ = replaced.mode;
  folder_ = folder_of(target_);
}

PendingFile::~PendingFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!done_ && !temporary_.empty()) ::unlink(temporary_.c_str());
}

void PendingFile::fail(const char* doing) const {
  throw_user_error(text("cannot write ", target_, ": ", reason(), " while ", doing));
}

void PendingFile::make() {
  static std::atomic<uint64_t> counter{0};
  if (fd_ >= 0) return;
  std::string name;
  // A name is taken where a process that had our number died; then the next one is tried.
  do {
    name = text(folder_, "/.ingot-", ::getpid(), "-", counter.fetch_add(1), ".tmp");
    fd_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (fd_ < 0 && errno == EEXIST);
  if (fd_ < 0) fail(text("making ", name).c_str());
  temporary_ = std::move(name);
  if (mode_ && ::fchmod(fd_, *mode_) != 0) fail("setting the mode");
}

void PendingFile::write(const void* data, std::size_t size) {
  make();
  if (!write_all(fd_, static_cast<const char*>(data), size)) fail("writing");
  if (sum_) sum_->add({static_cast<const char*>(data), size});
}

void PendingFile::commit() {
  make();
  if (::fsync(fd_) != 0) fail("flushing");
  // A network file system may report a full disk only here.
  if (::close(std::exchange(fd_, -1)) != 0) fail("closing");
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("renaming");
  done_ = true;
  // The name itself is durable once its folder is flushed. The content is already whole, so a
  // folder that cannot be flushed is no error.
  const Descriptor folder{::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (folder.fd >= 0) (void)::fsync(folder.fd);
}

void write_to(int descriptor, std::string_view bytes, const char* what) {
  INGOT_REQUIRE(write_all(descriptor, bytes.data(), bytes.size()), "cannot write to ", what, ": ", reason());
}

bool forbids_execution(const std::string& path) {
  struct statvfs info;
  return ::statvfs(path.c_str(), &info) == 0 && (info.f_flag & ST_NOEXEC) != 0;
}

AnonymousFile::AnonymousFile(std::string_view bytes, const std::string& what) {
  // On disk rather than in memory, where it would be all the time.
  std::error_code none;
  const std::string folder = std::filesystem::temp_directory_path(none).string();
  if (!none && !forbids_execution(folder)) fd_ = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U  // since Linux 6.3, where a machine may be set to forbid it otherwise
#endif
  if (fd_ < 0) fd_ = ::memfd_create("ingot", MFD_CLOEXEC | MFD_EXEC);
  if (fd_ < 0) fd_ = ::memfd_create("ingot", MFD_CLOEXEC);
  INGOT_REQUIRE(fd_ >= 0, what, ": no place to unpack it to: ", reason());
  if (write_all(fd_, bytes.data(), bytes.size())) return;
  const std::string why = reason();
  ::close(fd_);
  throw_user_error(text(what, ": cannot unpack it (", bytes.size(), " bytes) to ", folder, ": ", why));
}

AnonymousFile::~AnonymousFile() {
  if (fd_ >= 0) ::close(fd_);
}

std::string AnonymousFile::path() const { return text("/proc/self/fd/", fd_); }

void write_temporary_file(const std::string& path, std::string_view bytes) {
  Descriptor file{::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
  INGOT_REQUIRE(file.fd >= 0, "cannot make ", path, ": ", reason());
  // A network file system may report a full disk only when the file is closed.
  INGOT_REQUIRE(write_all(file.fd, bytes.data(), bytes.size()) && ::close(std::exchange(file.fd, -1)) == 0, "cannot write ", path,
                ": ", reason());
}

}  // namespace ingot
