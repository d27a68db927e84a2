// Writes zip archives: the same entries give the same bytes, and the file appears whole or not at
// all.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/checksum.hpp"
#include "io/file.hpp"

namespace ingot {

class ZipWriter {
 public:
  // The data of every entry starts at a multiple of `alignment`, padded for by a field of its
  // header.
  explicit ZipWriter(std::string target, std::size_t alignment = 1);

  // An entry whose content is the parts, one after the other. User error for a name no reader
  // should accept (zip_name_fault). The caller sees to it that names differ.
  void add(std::string_view name, std::span<const std::string_view> parts, bool compress = false);
  void add(std::string_view name, std::string_view content) { add(name, {&content, 1}); }
  // Writes the directory and gives the file its name. Nothing may be added afterwards.
  void finish();
  // The same with a comment, which ends the file: `words`, and the checksum (base/checksum.hpp) of
  // all that comes before it as text.
  void finish_with_checksum(std::string_view words);

 private:
  void write(std::string_view bytes);
  void write_end(std::size_t comment_size);
  PendingFile file_;
  Checksum sum_;
  std::string target_;
  std::size_t alignment_;
  uint64_t position_ = 0, count_ = 0;
  std::string directory_;
};

}  // namespace ingot
