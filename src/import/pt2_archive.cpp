#include "import/pt2_archive.hpp"

#include "import/pt2_state.hpp"
#include "io/dense.hpp"

namespace ingot {

namespace {

std::string_view trimmed(std::string_view s) {
  const auto begin = s.find_first_not_of(" \t\r\n");
  return begin == s.npos ? std::string_view() : s.substr(begin, s.find_last_not_of(" \t\r\n") - begin + 1);
}

// Refuses what is not an exported program, and names what it is where that is known.
void check_kind(const Pt2Archive& a) {
  if (a.zip.contains("serialized_exported_program.json"))
    a.fail("exported-program layout of torch <= 2.7; re-export with torch >= 2.8");
  if (a.contains("data.pkl") && (a.contains("constants.pkl") || a.contains("code/__torch__.py")))
    a.fail("it is a TorchScript file; export the model with torch.export.save");
  if (a.contains("data.pkl")) a.fail("it is a file of torch.save; export the model with torch.export.save");
  if (!a.contains("archive_format")) {
    std::string first;
    for (std::size_t i = 0; i < a.zip.names().size() && i < 3; i++) first += (i ? ", " : "") + shown_name(a.zip.names()[i]);
    a.fail("not a PT2 archive: it has no entry archive_format; it starts with ", first.empty() ? "nothing" : first);
  }
  if (trimmed(a.text_of("archive_format")) != "pt2") a.fail("not a PT2 archive: archive_format should be pt2");
  if (a.contains("archive_version"))
    if (const std::string v = a.text_of("archive_version"); trimmed(v) != "0")
      a.fail("archive_version should be 0, found ", shown_name(v));
  if (a.contains("byteorder"))
    if (const std::string order = a.text_of("byteorder"); trimmed(order) != "little")
      a.fail("byteorder should be little, found ", shown_name(order));
}

}  // namespace

Pt2Archive open_pt2_archive(const std::string& path) {
  Pt2Archive a{ZipReader::open(path, text("bad pt2 file ", path)), {}};
  a.zip.require_plain_names();
  if (a.zip.names().empty()) a.fail("not a PT2 archive: it has no entries");
  const std::string& first = a.zip.names()[0];
  if (!a.zip.contains("serialized_exported_program.json")) {
    a.top = first.substr(0, first.find('/') + 1);
    for (const std::string& name : a.zip.names())
      if (!name.starts_with(a.top)) a.fail("entry ", shown_name(name), " lies outside the folder ", shown_name(a.top));
  }
  check_kind(a);
  return a;
}

std::string choose_model(const Pt2Archive& a, const std::string& wanted) {
  const std::string folder = a.top + "models/";
  constexpr std::string_view kSuffix = ".json";
  std::vector<std::string> models;
  bool compiled = false;
  for (const std::string& name : a.zip.names()) {
    compiled |= name.starts_with(a.top + "data/aotinductor/");
    if (!name.starts_with(folder) || !name.ends_with(kSuffix) || name.find('/', folder.size()) != name.npos) continue;
    models.push_back(name.substr(folder.size(), name.size() - folder.size() - kSuffix.size()));
  }
  if (models.empty())
    a.fail(compiled ? "it is a package of compiled models (AOTInductor), not an exported program"
                    : "it has no program (models/NAME.json)");
  std::string all;
  for (const std::string& m : models) {
    if (m == (wanted.empty() ? "model" : wanted)) return m;
    all += (all.empty() ? "" : ", ") + m;
  }
  if (!wanted.empty()) a.fail("it has no program ", shown_name(wanted), "; there are: ", all);
  if (models.size() > 1) a.fail("it has several programs, name one of: ", all);
  return models[0];
}

std::map<std::string, StateEntry> read_all_state(const Pt2Archive& a, const std::string& model) {
  std::map<std::string, StateEntry> state;
  for (const std::string kind : {"weights", "constants"}) {
    const std::string folder = text(a.top, "data/", kind, "/"), config = text(folder, model, "_", kind, "_config.json");
    if (a.zip.contains(text(folder, model, ".pt")))
      a.fail("its ", kind, " are pickled (layout of torch 2.8); re-export with a newer torch");
    if (!a.zip.contains(config)) a.fail(config, " not found in PT2 archive");
    read_state(a.zip, config, folder, state);
  }
  return state;
}

}  // namespace ingot
