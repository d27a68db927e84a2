#include "runtime/elf_machine.hpp"

#include <elf.h>

#include <cstring>

#include "base/error.hpp"
#include "io/file.hpp"

namespace ingot {

std::string elf_machine(const std::string& path) {
  const Ref<MappedFile> file = MappedFile::open(path);
  Elf64_Ehdr header{};
  const bool is_elf = file->size() >= sizeof header && std::memcmp(file->data(), ELFMAG, SELFMAG) == 0;
  if (is_elf) std::memcpy(&header, file->data(), sizeof header);
  INGOT_REQUIRE(is_elf && header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_type == ET_DYN, path, " is no 64-bit shared library");
  INGOT_REQUIRE(header.e_machine == EM_X86_64 || header.e_machine == EM_AARCH64, path, ": a library for machine ", header.e_machine,
                ", expected x86_64 or aarch64");
  return header.e_machine == EM_X86_64 ? "x86_64" : "aarch64";
}

}  // namespace ingot
