#include "codegen/data_object.hpp"

#include <elf.h>

#include <cstring>

#include "base/error.hpp"

namespace ingot {
namespace {

constexpr uint64_t kPage = 16384;  // of aarch64; x86_64 has smaller ones

template <class T>
void append(std::string& bytes, const T& record) {
  bytes.append(reinterpret_cast<const char*>(&record), sizeof record);
}

// A table of names: the empty one first.
struct Names {
  std::string bytes = std::string(1, '\0');
  Elf64_Word add(const std::string& name) {
    const auto at = static_cast<Elf64_Word>(bytes.size());
    bytes += name;
    bytes += '\0';
    return at;
  }
};

// The note that code has its guards (codegen/machine.cpp): a library has it if everything in it
// does, data too.
struct GuardNote {
  Elf64_Nhdr header{4, 16, NT_GNU_PROPERTY_TYPE_0};
  char owner[4] = {'G', 'N', 'U', '\0'};
  uint32_t property, size = 4, guards, padding = 0;
};

GuardNote guard_note(Arch arch) {
  GuardNote note{};
  switch (arch) {
    case Arch::x86_64:
      note.property = GNU_PROPERTY_X86_FEATURE_1_AND;
      note.guards = GNU_PROPERTY_X86_FEATURE_1_IBT | GNU_PROPERTY_X86_FEATURE_1_SHSTK;
      break;
    case Arch::aarch64:
      note.property = GNU_PROPERTY_AARCH64_FEATURE_1_AND;
      note.guards = GNU_PROPERTY_AARCH64_FEATURE_1_BTI | GNU_PROPERTY_AARCH64_FEATURE_1_PAC;
      break;
  }
  return note;
}

Elf64_Half elf_machine(Arch arch) {
  switch (arch) {
    case Arch::x86_64: return EM_X86_64;
    case Arch::aarch64: return EM_AARCH64;
  }
  throw_internal_error(__FILE__, __LINE__, text("no object files for ", to_text(arch)));
}

}  // namespace

Object data_object(const std::string& name, const std::string& symbol, const std::vector<DataPart>& parts, uint64_t size,
                   Arch arch) {
  enum Section : uint16_t { kNone, kData, kNote, kSymbols, kStrings, kSectionNames, kSections };
  Names strings, section_names;
  std::string symbols;
  append(symbols, Elf64_Sym{});
  append(symbols, Elf64_Sym{strings.add(symbol), ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), STV_HIDDEN, kData, 0, size});

  Object object{name, {}};
  std::string& out = object.bytes;
  const uint64_t data_at = kPage;  // the file position is free; this keeps the data aligned in the file as well
  out.reserve(data_at + size + 4096);
  out.resize(data_at + size);
  for (const DataPart& p : parts) std::memcpy(out.data() + data_at + p.position, p.bytes, p.size);

  std::vector<Elf64_Shdr> headers(kSections);
  auto section = [&](Section k, const char* section_name, uint32_t type, uint64_t flags, uint64_t at, uint64_t bytes,
                     uint64_t align) {
    headers[k] = {section_names.add(section_name), type, flags, 0, at, bytes, 0, 0, align, 0};
  };
  section(kData, ".data.ingot_weights", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, data_at, size, kPage);
  auto add = [&](Section k, const char* section_name, uint32_t type, const std::string& bytes, uint64_t flags = 0) {
    out.resize((out.size() + 7) / 8 * 8);
    section(k, section_name, type, flags, out.size(), bytes.size(), 8);
    out += bytes;
  };
  std::string note;
  append(note, guard_note(arch));
  add(kNote, ".note.gnu.property", SHT_NOTE, note, SHF_ALLOC);
  add(kSymbols, ".symtab", SHT_SYMTAB, symbols);
  headers[kSymbols].sh_link = kStrings;
  headers[kSymbols].sh_info = 1;  // the first global one
  headers[kSymbols].sh_entsize = sizeof(Elf64_Sym);
  add(kStrings, ".strtab", SHT_STRTAB, strings.bytes);
  const Elf64_Word own_name = section_names.add(".shstrtab");
  const std::string all_names = section_names.bytes;
  add(kSectionNames, ".shstrtab", SHT_STRTAB, all_names);
  headers[kSectionNames].sh_name = own_name;
  out.resize((out.size() + 7) / 8 * 8);

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = elf_machine(arch);
  header.e_version = EV_CURRENT;
  header.e_shoff = out.size();
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = kSections;
  header.e_shstrndx = kSectionNames;
  std::memcpy(out.data(), &header, sizeof header);
  for (const Elf64_Shdr& h : headers) append(out, h);
  return object;
}

}  // namespace ingot
