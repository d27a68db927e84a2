// The directory of a zip archive, read with the suspicion a file's claims deserve.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

// One entry that is no folder. All numbers are those of the central directory, whose word is taken
// over the local header's.
struct ZipMember {
  std::string_view name;           // in the archive's bytes
  uint64_t header = 0, begin = 0;  // where its local header and its data start
  uint64_t packed = 0, size = 0;   // bytes in the archive, and inflated
  uint32_t crc = 0;
  bool deflated = false;

  std::string_view data(std::string_view archive) const { return archive.substr(begin, packed); }
};

// The entries of an archive, which is all of `bytes`, in the directory's order. Every member's data
// lies inside, before the directory, and apart from the others'; names are plain relative paths and
// differ; sizes are possible. User error, starting with `what`, for anything else, and for an entry
// that is encrypted or compressed by other means than deflate. Works from the end of the archive
// and never looks for local headers. (P001 to P012 of the pt2 format's description)
std::vector<ZipMember> read_zip_directory(std::string_view bytes, const std::string& what);

// What keeps this from being the name of an entry, as a message says it: it is empty, too long,
// absolute, or has a zero byte, a backslash, a drive letter or a component that is empty, "." or
// "..". Empty for a plain relative path.
std::string zip_name_fault(std::string_view name);

}  // namespace ingot
