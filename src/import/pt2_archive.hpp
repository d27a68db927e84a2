// The container of exported programs: a zip of one top folder (sections 1 and 2 of the format's description).
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "import/exported_program.hpp"
#include "io/zip.hpp"

namespace ingot {

// The archive, and the folder all its entries lie in.
struct Pt2Archive {
  ZipReader zip;
  std::string top;  // with its slash

  bool contains(std::string_view name) const { return zip.contains(text(top, name)); }
  std::string text_of(std::string_view name) const { return zip.read_text(text(top, name)); }
  template <class... T>
  [[noreturn]] void fail(const T&... parts) const { throw_user_error(text(zip.what(), ": ", parts...)); }
};

// User error for a file that is no exported program, naming what it is where that is known.
Pt2Archive open_pt2_archive(const std::string& path);
// The program called `wanted`; without a name "model", else the only one. User error listing the names.
std::string choose_model(const Pt2Archive& a, const std::string& wanted);
// Every weight and constant of the program.
std::map<std::string, StateEntry> read_all_state(const Pt2Archive& a, const std::string& model);

}  // namespace ingot
