// Zip archives, read through libzip with the suspicion a file's claims deserve.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/storage.hpp"

struct zip;
struct zip_file;

namespace ingot {

// One entry, read from its first byte to its last. The zip's checksum is verified when the last byte has been read.
class ZipEntryReader {
 public:
  const std::string& what() const { return what_; }  // how messages name the entry
  uint64_t size() const { return size_; }

  // Reads up to n bytes; fewer only at the end.
  std::size_t read_some(void* to, std::size_t n);
  // User error if the entry ends early.
  void read(void* to, std::size_t n);
  // User error if there is more.
  void require_end();

 private:
  friend class ZipReader;
  struct Close { void operator()(zip_file* f) const; };
  ZipEntryReader(zip* archive, uint64_t index, std::string what);
  std::string what_;
  std::unique_ptr<zip_file, Close> file_;
  uint64_t size_ = 0;
};

class ZipReader {
 public:
  // `what` starts every message: "bad npz file x.npz". User error for a file that is no zip, and for two entries of
  // one name. Folders (names that end in '/') are left out.
  static ZipReader open(const std::string& path, std::string what);

  const std::string& what() const { return what_; }
  const std::vector<std::string>& names() const { return names_; }  // in the archive's order
  // User error for a name that is no plain relative path: empty, absolute, with a backslash, a drive letter or a
  // component that is empty, "." or "..".
  void require_plain_names() const;
  bool contains(std::string_view name) const { return find(name) >= 0; }

  // User error if there is no such entry, if it is encrypted or compressed in another way than deflate, or if its size
  // is a lie. The reader must not outlive the archive.
  ZipEntryReader entry(std::string_view name) const;
  std::string read_text(std::string_view name) const;
  Ref<Storage> read_bytes(std::string_view name) const;

 private:
  struct Discard { void operator()(zip* z) const; };
  int64_t find(std::string_view name) const;
  std::string what_;
  std::unique_ptr<zip, Discard> archive_;
  std::vector<std::string> names_;
  std::vector<std::pair<std::string_view, uint64_t>> by_name_;  // sorted; the views are of names_
};

}  // namespace ingot
