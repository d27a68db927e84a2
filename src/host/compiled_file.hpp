// What compiled files, of whichever machine, say of themselves: whether they are as they were
// written, and what made them. Their bytes are read and nothing of them is loaded.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ingot {

// Of a library (base/library_note.hpp).
struct LibraryNote {
  std::string checksum;          // in digits
  uint64_t checksum_at = 0;      // in the file
  std::string made_by, options;  // empty where the note does not say
  std::string weights;           // the checksum of the file with its weights; empty: there is none
};
// None where the bytes are no 64-bit ELF file, or one without such a note. Whether the checksum is
// right has not been looked at.
std::optional<LibraryNote> library_note(std::string_view library);

// Whether the note's checksum is that of the library.
bool is_whole(std::string_view library, const LibraryNote& note);

// Writes the checksum of a library into its note, if it has one. User error where the file cannot
// be written.
void write_library_checksum(const std::string& path);

// What the comment of a package begins with: its checksum follows.
inline constexpr std::string_view kPackageWords = "ingot checksum ";
// The checksum that a package ends with, in digits; none where it has none. Whether it is right has
// not been looked at.
std::optional<std::string> package_checksum(std::string_view package);
// Whether that is the checksum of what comes before it.
bool is_whole_package(std::string_view package);

}  // namespace ingot
