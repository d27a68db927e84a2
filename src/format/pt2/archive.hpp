// The container of exported programs: which kind of file it is and where its parts lie (sections 1
// and 14 of the format's description).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "io/zip.hpp"

namespace ingot {

struct Pt2Archive {
  // The layout of torch <= 2.7 is one program in a zip without a top folder.
  enum class Layout : uint8_t { present, old_program };

  ZipReader zip;
  std::string top;  // the folder all entries lie in, with its slash; empty in the old layouts, which have none
  Layout layout = Layout::present;
  std::vector<std::string> programs, compiled;  // names of the exported programs, and of models AOTInductor compiled
  std::vector<std::string> extra_files;         // the user's own files, by the names they were given

  bool contains(std::string_view name) const { return zip.contains(text(top, name)); }
  std::string read_text(std::string_view name) const { return zip.read_text(text(top, name)); }
  // The entry with the program's JSON.
  std::string program_entry(const std::string& model) const;
  template <class... T>
  [[noreturn]] void fail(const T&... parts) const {
    throw_user_error(text(zip.what(), ": ", parts...));
  }
};

// User error for a file that holds neither exported programs nor compiled models, naming what it is
// where that is known.
Pt2Archive open_pt2_archive(const std::string& path);
// The program called `wanted`; without a name "model", else the only one. User error listing the
// names.
std::string choose_model(const Pt2Archive& a, const std::string& wanted);

}  // namespace ingot
