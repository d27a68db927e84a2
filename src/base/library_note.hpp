// The note in the ELF file of every library that Ingot makes, which programs read without loading
// anything: 16 bytes of a checksum, then lines KEY=VALUE.
//
// The checksum is that of the whole file (base/checksum.hpp), weights behind it included, with
// zeros in these 16 bytes.
#pragma once
#include <cstdint>
#include <string_view>

namespace ingot {

inline constexpr std::string_view kNoteSection = ".note.ingot", kNoteOwner = "Ingot";
inline constexpr uint32_t kNoteType = 1;

// The keys of its lines.
inline constexpr std::string_view kMadeBy = "made_by";    // "ingot 0.1.0, LLVM 19.1.7"
inline constexpr std::string_view kMadeWith = "options";  // "--target x86_64-unknown-linux-gnu --cpu x86-64-v3 --weights embed"
inline constexpr std::string_view kWeights = "weights";  // of a file beside it: its checksum

}  // namespace ingot
