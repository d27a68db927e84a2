// What the headers of a shared library say about it.
#pragma once
#include <string>
#include <vector>

namespace ingot {

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

}  // namespace ingot
