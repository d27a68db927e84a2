#include "host/elf_file.hpp"

#include <elf.h>

#include <cstring>
#include <optional>

#include "base/error.hpp"
#include "io/file.hpp"

namespace ingot {
namespace {

// The header, unless the file begins with something else.
std::optional<Elf64_Ehdr> header_of(const MappedFile& file) {
  Elf64_Ehdr header{};
  if (file.size() < sizeof header || std::memcmp(file.data(), ELFMAG, SELFMAG) != 0) return {};
  std::memcpy(&header, file.data(), sizeof header);
  const bool is_ours = header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB;
  return is_ours ? std::optional(header) : std::nullopt;
}

void require_bytes(const MappedFile& file, const char* what, uint64_t offset, uint64_t bytes) {
  const uint64_t has = file.size();
  INGOT_REQUIRE(offset <= has && bytes <= has - offset, "the file is damaged or cut off: expected ", what, " of ", bytes,
                " bytes at ", offset, ", found the end of the file at ", has, "; copy it again, or compile the program again");
}

// Does the table for the loader name what every library has, its symbols and their names?
bool is_dynamic_table(const char* data, uint64_t bytes) {
  bool has_symbols = false, has_names = false;
  for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= bytes; at += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    std::memcpy(&entry, data + at, sizeof entry);
    if (entry.d_tag == DT_NULL) break;
    has_symbols = has_symbols || entry.d_tag == DT_SYMTAB;
    has_names = has_names || entry.d_tag == DT_STRTAB;
  }
  return has_symbols && has_names;
}

// The first section of that type, of entries of type T, whose names are in another section.
template <class T>
class NamedSection {
 public:
  NamedSection(const MappedFile& file, const Elf64_Ehdr& header, uint32_t type) : file_(file) {
    if (header.e_shentsize != sizeof(Elf64_Shdr)) return;
    for (uint64_t k = 0; k < header.e_shnum; k++) {
      const auto section = read<Elf64_Shdr>(header.e_shoff + k * sizeof(Elf64_Shdr));
      if (section.sh_type != type || section.sh_link >= header.e_shnum) continue;
      section_ = section;
      names_ = read<Elf64_Shdr>(header.e_shoff + section.sh_link * sizeof(Elf64_Shdr));
      break;
    }
  }

  template <class Action>
  void for_each(Action action) const {
    for (uint64_t at = 0; at + sizeof(T) <= section_.sh_size; at += sizeof(T)) action(read<T>(section_.sh_offset + at));
  }
  std::string name(uint64_t at) const {
    if (at >= names_.sh_size) return {};
    require_bytes(file_, "a table of names", names_.sh_offset, names_.sh_size);
    const char* first = file_.data() + names_.sh_offset + at;
    return {first, strnlen(first, names_.sh_size - at)};
  }

 private:
  template <class Entry>
  Entry read(uint64_t at) const {
    require_bytes(file_, "an entry of a table", at, sizeof(Entry));
    Entry entry;
    std::memcpy(&entry, file_.data() + at, sizeof entry);
    return entry;
  }

  const MappedFile& file_;
  Elf64_Shdr section_{}, names_{};
};

}  // namespace

ElfNeeds elf_needs(const std::string& path) {
  const Ref<MappedFile> file = MappedFile::open(path, MappedFile::Access::read_only);
  const std::optional<Elf64_Ehdr> header = header_of(*file);
  if (!header) return {};
  ElfNeeds needs;
  const NamedSection<Elf64_Dyn> dynamic(*file, *header, SHT_DYNAMIC);
  dynamic.for_each([&](const Elf64_Dyn& entry) {
    if (entry.d_tag == DT_NEEDED) needs.libraries.push_back(dynamic.name(entry.d_un.d_val));
  });
  const NamedSection<Elf64_Sym> symbols(*file, *header, SHT_DYNSYM);
  symbols.for_each([&](const Elf64_Sym& symbol) {
    if (symbol.st_shndx == SHN_UNDEF && ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL)
      needs.functions.push_back(symbols.name(symbol.st_name));
  });
  return needs;
}

std::string elf_machine(const std::string& path) {
  const Ref<MappedFile> file = MappedFile::open(path, MappedFile::Access::read_only);
  const std::optional<Elf64_Ehdr> header = header_of(*file);
  INGOT_REQUIRE(header && header->e_type == ET_DYN, path, " is no 64-bit shared library");
  INGOT_REQUIRE(header->e_machine == EM_X86_64 || header->e_machine == EM_AARCH64, path, ": a library for machine ",
                header->e_machine, ", expected x86_64 or aarch64");
  return header->e_machine == EM_X86_64 ? "x86_64" : "aarch64";
}

void require_whole_elf(const std::string& path) {
  const Ref<MappedFile> file = MappedFile::open(path, MappedFile::Access::read_only);
  const std::optional<Elf64_Ehdr> header = header_of(*file);
  if (!header) return;
  require_bytes(*file, "a table of segments", header->e_phoff, uint64_t{header->e_phnum} * sizeof(Elf64_Phdr));
  for (uint64_t k = 0; k < header->e_phnum; k++) {
    Elf64_Phdr segment;
    std::memcpy(&segment, file->data() + header->e_phoff + k * sizeof segment, sizeof segment);
    require_bytes(*file, "a segment", segment.p_offset, segment.p_filesz);
    INGOT_REQUIRE(
        segment.p_type != PT_DYNAMIC || is_dynamic_table(file->data() + segment.p_offset, segment.p_filesz),
        "the file is damaged: expected the names of its symbols in the dynamic section, found none; copy it again, or compile the program again");
  }
  // Linkers write this table last. The loader does not read it, but where it is missing, bytes were
  // lost.
  require_bytes(*file, "a table of sections", header->e_shoff, uint64_t{header->e_shnum} * header->e_shentsize);
}

ElfImage::ElfImage(const std::string& path) {
  require_whole_elf(path);
  file_ = MappedFile::open(path);
  const std::optional<Elf64_Ehdr> header = header_of(*file_);
  INGOT_REQUIRE(header, path, " is no 64-bit shared library");
  for (uint64_t k = 0; k < header->e_phnum; k++) {
    Elf64_Phdr segment;
    std::memcpy(&segment, file_->data() + header->e_phoff + k * sizeof segment, sizeof segment);
    if (segment.p_type == PT_LOAD) segments_.push_back({segment.p_vaddr, segment.p_filesz, segment.p_offset});
  }
  // Pointers within the library are made when it is loaded: here, in this process's own pages.
  const uint32_t relative = header->e_machine == EM_X86_64 ? R_X86_64_RELATIVE : R_AARCH64_RELATIVE;
  const NamedSection<Elf64_Rela> relocations(*file_, *header, SHT_RELA);
  relocations.for_each([&](const Elf64_Rela& r) {
    if (ELF64_R_TYPE(r.r_info) != relative) return;
    const Segment* segment = segment_of(r.r_offset);
    if (!segment || r.r_offset - segment->address + sizeof r.r_addend > segment->bytes) return;
    std::memcpy(file_->data() + segment->offset + (r.r_offset - segment->address), &r.r_addend, sizeof r.r_addend);
  });
}

const ElfImage::Segment* ElfImage::segment_of(uint64_t address) const {
  for (const Segment& s : segments_)
    if (address >= s.address && address - s.address < s.bytes) return &s;
  return nullptr;
}

std::optional<uint64_t> ElfImage::symbol(std::string_view name) const {
  std::optional<uint64_t> found;
  const NamedSection<Elf64_Sym> symbols(*file_, *header_of(*file_), SHT_DYNSYM);
  symbols.for_each([&](const Elf64_Sym& s) {
    if (!found && s.st_shndx != SHN_UNDEF && symbols.name(s.st_name) == name) found = s.st_value;
  });
  return found;
}

const char* ElfImage::bytes(uint64_t address, uint64_t count) const {
  const Segment* segment = segment_of(address);
  INGOT_REQUIRE(segment && count <= segment->bytes - (address - segment->address), file_->path(),
                " is damaged: expected data of ", count, " bytes at address ", address, ", which the file does not have");
  return file_->data() + segment->offset + (address - segment->address);
}

std::string ElfImage::text(uint64_t address) const {
  const char* first = bytes(address, 1);
  const Segment* segment = segment_of(address);
  return {first, strnlen(first, segment->bytes - (address - segment->address))};
}

}  // namespace ingot
