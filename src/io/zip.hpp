// Zip archives: read in place, over a mapped file.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/zip_directory.hpp"
#include "tensor/storage.hpp"

namespace ingot {

// Bytes that `owner` keeps alive. Writing to them is private to the process.
struct OwnedBytes {
  char* data = nullptr;
  std::size_t size = 0;
  Ref<Counted> owner;
  std::string_view view() const { return {data, size}; }
};

class ZipReader {
 public:
  // `what` starts every message: "bad npz file x.npz". User error for a file that is no zip, and
  // for every claim of its directory that cannot be true (read_zip_directory).
  static ZipReader open(const std::string& path, std::string what);
  // The same for an archive that lies inside something else.
  static ZipReader over(OwnedBytes archive, std::string what);

  const std::string& what() const { return what_; }
  const std::vector<std::string>& names() const { return names_; }  // in the archive's order, without folders
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  // How messages name the entry: "bad npz file x.npz: entry 'a'".
  std::string what(std::string_view name) const;

  // ---- an entry. User error if there is no such one, if its checksum is wrong or it does not
  // inflate to its size.
  uint64_t size(std::string_view name) const;
  // A stored one's own bytes in the file, not copied; a deflated one's in memory of their own.
  OwnedBytes read(std::string_view name) const;
  // A copy. User error above the limit, and for a deflated one beyond what text can be deflated to,
  // before memory is reserved.
  std::string read_text(std::string_view name, uint64_t limit = uint64_t{4} << 30) const;
  // As `read`, but copied where not aligned for every dtype.
  Ref<Storage> read_storage(std::string_view name) const;

 private:
  const ZipMember* find(std::string_view name) const;
  const ZipMember& member(std::string_view name) const;
  void check_crc(const ZipMember& m, std::string_view content) const;
  std::string what_;
  OwnedBytes archive_;
  std::vector<std::string> names_;
  std::vector<ZipMember> by_name_;  // sorted by name
};

}  // namespace ingot
