#include "format/pt2/archive.hpp"

#include <algorithm>
#include <set>

#include "io/dense.hpp"

namespace ingot {

namespace {

constexpr std::string_view kOldProgram = "serialized_exported_program.json";

std::string_view trimmed(std::string_view s) {
  const auto begin = s.find_first_not_of(" \t\r\n");
  return begin == s.npos ? std::string_view() : s.substr(begin, s.find_last_not_of(" \t\r\n") - begin + 1);
}

// An entry of a word or a number.
std::string word(const Pt2Archive& a, std::string_view name) {
  constexpr uint64_t kLongest = 4096;
  return std::string(trimmed(a.zip.read_text(text(a.top, name), kLongest)));
}

bool has_folder(const Pt2Archive& a, std::string_view folder) {
  const std::string prefix = text(a.top, folder);
  return std::any_of(a.zip.names().begin(), a.zip.names().end(), [&](const std::string& n) { return n.starts_with(prefix); });
}

// The names of the entries `folder`NAME`suffix`.
std::vector<std::string> names_in(const Pt2Archive& a, std::string_view folder, std::string_view suffix, bool deep = false) {
  const std::string prefix = text(a.top, folder);
  std::vector<std::string> out;
  for (const std::string& name : a.zip.names()) {
    if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() <= prefix.size() + suffix.size()) continue;
    if (!deep && name.find('/', prefix.size()) != name.npos) continue;
    out.push_back(name.substr(prefix.size(), name.size() - prefix.size() - suffix.size()));
  }
  return out;
}

// A compiled model is a folder; the earliest packages have its files without one.
std::vector<std::string> compiled_models(const Pt2Archive& a) {
  std::set<std::string> out;
  for (const std::string& file : names_in(a, "data/aotinductor/", "", true)) {
    const std::size_t slash = file.find('/');
    out.insert(slash == file.npos ? "model" : file.substr(0, slash));
  }
  return {out.begin(), out.end()};
}

std::string joined(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 20;
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < kMost; i++) out += text(i ? ", " : "", shown_name(names[i]));
  if (names.size() > kMost) out += text(" and ", names.size() - kMost, " others");
  return out;
}

void find_top(Pt2Archive& a) {
  if (a.zip.names().empty()) a.fail("not a PT2 archive: it has no entries");
  if (a.zip.contains(kOldProgram) || a.zip.contains("archive_format")) return;
  const std::string& first = a.zip.names()[0];
  a.top = first.substr(0, first.find('/') + 1);
  for (const std::string& name : a.zip.names())
    if (!name.starts_with(a.top)) a.fail("entry ", shown_name(name), " lies outside the folder ", shown_name(a.top));
}

// Refuses what is none of ours, by its name where that is known.
[[noreturn]] void refuse(const Pt2Archive& a, std::string_view reason) {
  if (a.contains("data.pkl") && (a.contains("constants.pkl") || has_folder(a, "code/")))
    a.fail("it is a TorchScript file; export the model with torch.export.save");
  if (a.contains("data.pkl")) a.fail("it is a file of torch.save; export the model with torch.export.save");
  std::vector<std::string> first = a.zip.names();
  const bool more = first.size() > 3;
  first.resize(std::min<std::size_t>(first.size(), 3));
  a.fail("not a PT2 archive: ", reason, "; its entries are ", joined(first), more ? ", …" : "");
}

void check_versions(const Pt2Archive& a) {
  if (a.contains("archive_version"))
    if (const std::string v = word(a, "archive_version"); v != "0") {
      const std::string shown = shown_name(v);
      a.fail("entry 'archive_version': Saved archive version ", shown.substr(1, shown.size() - 2),
             " does not match our current archive version 0.");
    }
  if (a.contains("byteorder"))
    if (const std::string order = word(a, "byteorder"); order != "little")
      a.fail("entry 'byteorder': expected little, found ", shown_name(order));
}

void check_old_version(const Pt2Archive& a) {
  if (!a.contains("version")) return;
  const std::string v = word(a, "version");
  if (v.substr(0, v.find('.')) != "8")
    a.fail("entry 'version': schema version ", shown_name(v), " is not supported (this reader knows 8.x)");
}

}  // namespace

std::string Pt2Archive::program_entry(const std::string& model) const {
  return layout == Layout::old_program ? std::string(kOldProgram) : text(top, "models/", model, ".json");
}

Pt2Archive open_pt2_archive(const std::string& path) {
  Pt2Archive a;
  a.zip = ZipReader::open(path, text("bad pt2 file ", path));
  find_top(a);
  const std::string format = a.contains("archive_format") ? word(a, "archive_format") : "";
  if (format == "pt2") {
    a.programs = names_in(a, "models/", ".json");
    a.compiled = compiled_models(a);
    a.extra_files = names_in(a, "extra/", "", true);
    check_versions(a);
    if (!a.programs.empty() || !a.compiled.empty()) return a;
  }
  if (a.zip.contains(kOldProgram)) {
    a.layout = Pt2Archive::Layout::old_program;
    a.programs = {"model"};
    a.extra_files = names_in(a, "extra_files/", "", true);
    check_old_version(a);
    return a;
  }
  if (!a.contains("archive_format")) refuse(a, "it has no entry archive_format");
  if (format != "pt2") refuse(a, text("archive_format should be pt2, found ", shown_name(format)));
  refuse(a, "it has neither a program (models/NAME.json) nor a compiled model");
}

std::string choose_model(const Pt2Archive& a, const std::string& wanted) {
  if (a.programs.empty())
    a.fail("it is a package of compiled models (AOTInductor: ", joined(a.compiled), "), not an exported program");
  const std::string& name = wanted.empty() ? std::string("model") : wanted;
  if (std::find(a.programs.begin(), a.programs.end(), name) != a.programs.end()) return name;
  if (!wanted.empty()) a.fail("it has no program ", shown_name(wanted), "; there are: ", joined(a.programs));
  if (a.programs.size() > 1)
    a.fail("it has several programs; name one of them (--model on the command line): ", joined(a.programs));
  return a.programs[0];
}

}  // namespace ingot
