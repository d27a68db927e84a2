#include "host/compiled_file.hpp"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/checksum.hpp"
#include "base/error.hpp"
#include "base/library_note.hpp"
#include "io/file.hpp"

namespace ingot {
namespace {

constexpr std::size_t kBytes = sizeof(Checksum::Bytes), kDigits = 2 * kBytes;

// So many bytes of the file, or none where it has fewer: its headers may say anything.
std::optional<std::string_view> part(std::string_view file, uint64_t at, uint64_t bytes) {
  if (at > file.size() || bytes > file.size() - at) return {};
  return file.substr(at, bytes);
}
template <class T>
std::optional<T> read(std::string_view file, uint64_t at) {
  const auto bytes = part(file, at, sizeof(T));
  if (!bytes) return {};
  T value;
  std::memcpy(&value, bytes->data(), sizeof value);
  return value;
}

// Where the content of our note lies in the notes of a segment; none where it is not among them.
struct Place {
  uint64_t at, bytes;
};
std::optional<Place> find_note(std::string_view file, const Elf64_Phdr& segment) {
  const uint64_t unit = segment.p_align == 8 ? 8 : 4;
  const auto aligned = [&](uint64_t n) { return (n + unit - 1) / unit * unit; };
  const auto notes = part(file, segment.p_offset, segment.p_filesz);
  for (uint64_t at = 0; notes && at < notes->size();) {
    const auto header = read<Elf64_Nhdr>(*notes, at);
    if (!header) break;
    const uint64_t owner_at = at + sizeof *header, content_at = aligned(owner_at + header->n_namesz);
    const auto owner = part(*notes, owner_at, header->n_namesz);
    if (!owner || !part(*notes, content_at, header->n_descsz)) break;
    const bool is_ours = owner->size() == kNoteOwner.size() + 1 && owner->starts_with(kNoteOwner) && owner->back() == '\0';
    if (is_ours && header->n_type == kNoteType) return Place{segment.p_offset + content_at, header->n_descsz};
    at = aligned(content_at + header->n_descsz);
  }
  return {};
}

// The value of the line KEY=VALUE; "" where there is none.
std::string value_of(std::string_view lines, std::string_view key) {
  for (std::size_t at = 0; at < lines.size();) {
    const std::string_view line = lines.substr(at, lines.find('\n', at) - at);
    if (line.starts_with(key) && line.substr(key.size()).starts_with('=')) return std::string(line.substr(key.size() + 1));
    at += line.size() + 1;
  }
  return {};
}

Checksum::Bytes checksum_of(std::string_view library, uint64_t place) {
  Checksum sum;
  sum.add(library.substr(0, place));
  sum.add(std::string(kBytes, '\0'));
  sum.add(library.substr(place + kBytes));
  return sum.value();
}

}  // namespace

std::optional<LibraryNote> library_note(std::string_view library) {
  const auto header = read<Elf64_Ehdr>(library, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_phentsize != sizeof(Elf64_Phdr))
    return {};
  for (uint64_t k = 0; k < header->e_phnum; k++) {
    const auto segment = read<Elf64_Phdr>(library, header->e_phoff + k * sizeof(Elf64_Phdr));
    if (!segment) return {};
    if (segment->p_type != PT_NOTE) continue;
    const auto place = find_note(library, *segment);
    if (!place || place->bytes < kBytes) continue;
    const std::string_view lines = library.substr(place->at + kBytes, place->bytes - kBytes);
    Checksum::Bytes checksum;
    std::memcpy(checksum.data(), library.data() + place->at, kBytes);
    return LibraryNote{to_text(checksum), place->at, value_of(lines, kMadeBy), value_of(lines, kMadeWith),
                       value_of(lines, kWeights)};
  }
  return {};
}

bool is_whole(std::string_view library, const LibraryNote& note) {
  return to_text(checksum_of(library, note.checksum_at)) == note.checksum;
}

void write_library_checksum(const std::string& path) {
  const Ref<MappedFile> file = MappedFile::open(path, MappedFile::Access::read_only);
  const std::optional<LibraryNote> note = library_note(file->bytes());
  if (!note) return;
  Checksum::Bytes checksum = checksum_of(file->bytes(), note->checksum_at);
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const bool is_written =
      fd >= 0 && ::pwrite(fd, checksum.data(), kBytes, static_cast<off_t>(note->checksum_at)) == static_cast<ssize_t>(kBytes);
  const int error = errno;
  if (fd >= 0) ::close(fd);
  INGOT_REQUIRE(is_written, "cannot write the checksum of ", path, ": ", std::strerror(error));
}

std::optional<std::string> package_checksum(std::string_view package) {
  constexpr std::size_t kComment = kPackageWords.size() + kDigits;
  if (package.size() < kComment || !package.substr(package.size() - kComment).starts_with(kPackageWords)) return {};
  return std::string(package.substr(package.size() - kDigits));
}

bool is_whole_package(std::string_view package) {
  const std::optional<std::string> checksum = package_checksum(package);
  if (!checksum) return false;
  Checksum sum;
  sum.add(package.substr(0, package.size() - kDigits));
  return sum.text() == *checksum;
}

}  // namespace ingot
