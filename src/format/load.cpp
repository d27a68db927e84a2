#include "format/load.hpp"

#include <string_view>

#include "base/error.hpp"
#include "format/pt2/load.hpp"
#include "io/dense.hpp"
#include "io/file.hpp"

namespace ingot {
namespace {

struct Format {
  std::string_view begins;  // the first bytes of a file
  Program (*load)(const std::string& path, const std::string& model);
};
constexpr Format kFormats[] = {{"PK", load_pt2}};  // a zip archive

// What people give a compiler that is no program of a format, and what is to be done about it.
struct Stranger {
  std::string_view begins, what;
};
constexpr Stranger kStrangers[] = {
    {"\177ELF", "a library (`ingot run` runs a model that is compiled)"},
    {"\200", "a pickle (write the program with torch.export.save)"},
    {"program ", "the text of a loop program (`ingot compile` takes it from a file that is called .loop)"},
    {"\x08", "perhaps an ONNX model (export the program with torch.export.save)"},
    {"{", "perhaps JSON (a .pt2 file is the archive around it)"},
    {"\x93NUMPY", "an array of NumPy"},
    {"\x1f\x8b", "a file that gzip has compressed"},
};

std::string found_in(std::string_view bytes) {
  if (bytes.empty()) return "an empty file";
  for (const Stranger& s : kStrangers)
    if (bytes.starts_with(s.begins)) return std::string(s.what);
  constexpr std::size_t kShown = 16;
  return text("a file that begins with ", shown_name(bytes.substr(0, kShown)));
}

}  // namespace

Program load_program(const std::string& path, const std::string& model) {
  const Ref<MappedFile> file = MappedFile::open(path);
  for (const Format& f : kFormats)
    if (file->bytes().starts_with(f.begins)) return f.load(path, model);
  throw_user_error(text(path, ": expected an exported program (.pt2, a zip archive that torch.export.save writes), found ",
                        found_in(file->bytes())));
}

}  // namespace ingot
