#include "base/build_id.hpp"

#include <elf.h>
#include <link.h>

#include <cstring>

namespace ingot {
namespace {

struct Search {
  uintptr_t address;
  std::string found;
};

std::string digest_in(const char* note, std::size_t size) {
  const auto padded = [](std::size_t n) { return (n + 3) / 4 * 4; };
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, note, sizeof header);
    const std::size_t name = padded(header.n_namesz), whole = sizeof header + name + padded(header.n_descsz);
    if (whole > size) break;
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 && std::memcmp(note + sizeof header, "GNU", 4) == 0) {
      std::string digits;
      for (std::size_t k = 0; k < header.n_descsz; k++) {
        const auto byte = static_cast<unsigned char>(note[sizeof header + name + k]);
        digits += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
      }
      return digits;
    }
    note += whole;
    size -= whole;
  }
  return {};
}

int look(dl_phdr_info* object, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  bool is_here = false;
  for (int k = 0; k < object->dlpi_phnum; k++) {
    const ElfW(Phdr)& p = object->dlpi_phdr[k];
    const uintptr_t first = object->dlpi_addr + p.p_vaddr;
    is_here = is_here || (p.p_type == PT_LOAD && search.address >= first && search.address < first + p.p_memsz);
  }
  for (int k = 0; k < object->dlpi_phnum && is_here && search.found.empty(); k++) {
    const ElfW(Phdr)& p = object->dlpi_phdr[k];
    if (p.p_type == PT_NOTE) search.found = digest_in(reinterpret_cast<const char*>(object->dlpi_addr + p.p_vaddr), p.p_memsz);
  }
  return is_here;
}

}  // namespace

std::string build_id() {
  Search search{reinterpret_cast<uintptr_t>(&look), {}};
  dl_iterate_phdr(look, &search);
  return search.found;
}

}  // namespace ingot
