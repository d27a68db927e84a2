// For which machine a shared library is.
#pragma once
#include <string>

namespace ingot {

// "x86_64" or "aarch64". User error for a file that is no ELF shared library of either.
std::string elf_machine(const std::string& path);

}  // namespace ingot
