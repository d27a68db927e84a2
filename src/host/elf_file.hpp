// What the headers of a shared library say about it.
#pragma once
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.hpp"

namespace ingot {

#if defined(__x86_64__)
inline constexpr std::string_view kOwnMachine = "x86_64";
#else
inline constexpr std::string_view kOwnMachine = "aarch64";
#endif

// "x86_64" or "aarch64": the machine it is for. User error for a file that is no ELF shared library
// of either.
std::string elf_machine(const std::string& path);

// User error for a shared library of which the end is missing, or whose table for the loader is
// empty: the loader trusts what the headers say, and would end the process. What is no 64-bit ELF
// file at all passes; the loader has words for that.
void require_whole_elf(const std::string& path);

// What a library expects of the process: other libraries by name, and functions and variables that
// are not its own. Empty where the file does not say, or is none.
struct ElfNeeds {
  std::vector<std::string> libraries, functions;
};
ElfNeeds elf_needs(const std::string& path);

// The data of a library, of whichever machine, as the loader would lay it out: pointers in it are
// addresses in the library. Nothing of it runs. User error for what is damaged, or not there.
class ElfImage {
 public:
  explicit ElfImage(const std::string& path);

  // Where an exported symbol is; none where there is no such.
  std::optional<uint64_t> symbol(std::string_view name) const;
  // So many bytes at an address.
  const char* bytes(uint64_t address, uint64_t count) const;
  std::string text(uint64_t address) const;  // up to its zero
  template <class T>
  T read(uint64_t address) const {
    T value;
    std::memcpy(&value, bytes(address, sizeof value), sizeof value);
    return value;
  }

 private:
  struct Segment {
    uint64_t address, bytes, offset;
  };
  const Segment* segment_of(uint64_t address) const;
  Ref<MappedFile> file_;
  std::vector<Segment> segments_;
};

}  // namespace ingot
