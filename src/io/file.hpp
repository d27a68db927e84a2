// Whole files: read through a private mapping, written beside the target and renamed over it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ingot/ref.hpp"

namespace ingot {

class Checksum;

// The bytes of a regular file. Private: what is written to them is seen by this process alone and
// never reaches the file. Replacing the file (as PendingFile does) leaves a mapping intact. Writing
// into the file shows in those pages that were not read yet, and cutting it short ends in SIGBUS,
// as for every mapping.
class MappedFile final : public Counted {
 public:
  // Bytes that are only read may say so: valgrind takes a writable mapping of a library for a part
  // of it that is loaded.
  enum class Access : uint8_t { private_writes, read_only };
  // User error if the file cannot be opened or is no regular file.
  static Ref<MappedFile> open(const std::string& path, Access access = Access::private_writes);
  ~MappedFile() override;

  const std::string& path() const { return path_; }
  char* data() const { return data_; }  // null for an empty file
  std::size_t size() const { return size_; }
  std::string_view bytes() const { return {data_, size_}; }

 private:
  MappedFile(std::string path, char* data, std::size_t size) : path_(std::move(path)), data_(data), size_(size) {}
  std::string path_;
  char* data_;
  std::size_t size_;
};

// What is replaced by a file that is written beside it and renamed: the file at `path`, or the one
// that a link there leads to, so that the link stays. User error, naming the path, where something
// else than a regular file is: a device, a pipe, a folder, a link to nothing.
struct ReplacedFile {
  std::string path;
  std::optional<unsigned> mode;  // of the file that is there already
};
ReplacedFile replaced_file(const std::string& path);

// A file that appears under its name whole or not at all: bytes go to a temporary file in the same
// folder, which commit() flushes to the disk and renames. Without a commit it is removed. A file
// that is there already keeps its mode, and a link to it stays one. Every failure is a user error
// naming the target; it is one to write where something else than a regular file is.
class PendingFile {
 public:
  explicit PendingFile(std::string target);
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  const std::string& target() const { return target_; }
  void write(const void* data, std::size_t size);
  void write(std::string_view bytes) { write(bytes.data(), bytes.size()); }
  void commit();
  // What is written from now on is added to the checksum too, which outlives the value.
  void sum_into(Checksum* sum) { sum_ = sum; }

 private:
  [[noreturn]] void fail(const char* doing) const;
  void make();
  std::string target_, folder_, temporary_;  // temporary_: empty while there is none
  std::optional<unsigned> mode_;             // of the file that is there already
  Checksum* sum_ = nullptr;
  int fd_ = -1;
  bool done_ = false;
};

// Writes all bytes to a descriptor; user error naming `what` that is.
void write_to(int descriptor, std::string_view bytes, const char* what);

// Bytes under a path that this process alone can open, which go with the value, and with the
// process however that ends: a file without a name in the system's temporary folder, or in memory
// where that folder has none such or forbids execution. User error where there is no room.
class AnonymousFile {
 public:
  AnonymousFile(std::string_view bytes, const std::string& what);
  ~AnonymousFile();
  AnonymousFile(AnonymousFile&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  AnonymousFile& operator=(AnonymousFile&&) = delete;

  std::string path() const;

 private:
  int fd_ = -1;
};

// Whether nothing on the file system of that path can be executed, which loading a library is.
bool forbids_execution(const std::string& path);

// A file of this process alone, in a temporary folder: written where it lies, and not flushed to
// the disk. User error where that fails.
void write_temporary_file(const std::string& path, std::string_view bytes);

}  // namespace ingot
