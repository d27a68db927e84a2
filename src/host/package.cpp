#include "host/package.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <tuple>

#include "base/error.hpp"
#include "base/fork_mark.hpp"
#include "base/log.hpp"
#include "format/pt2/archive.hpp"
#include "host/compiled_file.hpp"
#include "io/file.hpp"
#include "io/zip_writer.hpp"

namespace ingot {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kModels = "data/aotinductor/", kConstants = "data/constants/", kWeights = "data/weights/";
constexpr std::string_view kNoSource = "// The code of this model is the library beside this file; Ingot makes it without C++.\n";
constexpr std::size_t kPageBytes = 4096;  // where libraries begin in the archive, so that they can be mapped there

// The archive, whose claims about itself are true.
Pt2Archive open_package(const std::string& path) {
  const ZipReader zip = ZipReader::open(path, text("bad package ", path));
  INGOT_REQUIRE(!zip.names().empty(), path, ": No files found in zip archive.");
  const auto format = std::find_if(zip.names().begin(), zip.names().end(),
                                   [](const std::string& n) { return n == "archive_format" || n.ends_with("/archive_format"); });
  if (format != zip.names().end()) INGOT_REQUIRE(zip.read_text(*format, 64) == "pt2", path, ": Invalid archive format");
  Pt2Archive a = open_pt2_archive(path);
  if (a.top.empty()) warn(text(path, ": the archive has no top-level folder; it was written by an old version"));
  return a;
}

// The entries of the archive under `folder`, which ends in a slash, without it.
std::vector<std::string> entries_in(const Pt2Archive& a, const std::string& folder) {
  std::vector<std::string> found;
  const std::string prefix = a.top + folder;
  for (const std::string& n : a.zip.names())
    if (n.starts_with(prefix) && n.size() > prefix.size()) found.push_back(n.substr(prefix.size()));
  return found;
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& n : names) out += (out.empty() ? "" : ", ") + n;
  return out;
}

// The folder of the model's files in the archive.
std::string find_model(const Pt2Archive& a, const std::string& path, const std::string& name) {
  const std::string folder = text(kModels, name, "/");
  if (!entries_in(a, folder).empty()) return folder;
  // The first packages had one model, whose files lie there without a folder of its own; it is
  // listed by this name.
  const std::string bare(kModels);
  const auto is_file = [](const std::string& entry) { return entry.find('/') == entry.npos; };
  const std::vector<std::string> entries = entries_in(a, bare);
  if (name == "model" && std::any_of(entries.begin(), entries.end(), is_file)) return bare;
  throw_user_error(text(path, ": Failed to find a generated cpp file or so file for model '", name,
                        "' in the zip archive.\n\nAvailable models in the archive:\n  ",
                        a.compiled.empty() ? "none" : listed(a.compiled),
                        "\n\nTo load a specific model, give its name (--model on the command line).\n\nFiles in the archive:\n  ",
                        listed(a.zip.names())));
}

void extract(const Pt2Archive& a, const std::string& folder, const std::string& entry, const fs::path& target) {
  fs::create_directories(target.parent_path());
  write_temporary_file(target.string(), a.zip.read(text(a.top, folder, entry)).view());
}

std::string usual_model(const std::string& path) {
  const Pt2Archive archive = open_pt2_archive(path);
  INGOT_REQUIRE(!archive.compiled.empty(), path,
                " holds an exported program and no compiled model; compile it first: ingot compile ", path);
  if (archive.compiled.size() == 1) return archive.compiled[0];
  INGOT_REQUIRE(std::find(archive.compiled.begin(), archive.compiled.end(), "model") != archive.compiled.end(), path,
                " has several models; name one of them (--model on the command line): ", listed(archive.compiled));
  return "model";
}

// "" where there is none.
std::string metadata_of(const Pt2Archive& a, const std::string& folder) {
  for (const std::string& entry : entries_in(a, folder))
    if (entry.ends_with("_metadata.json")) return a.read_text(folder + entry);
  return {};
}

bool is_source(const std::string& name) { return name.ends_with(".cpp") || name.ends_with(".o"); }

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::error_code none;
  fs::path root = fs::temp_directory_path(none);
  std::string name = ((none ? fs::path("/tmp") : root) / "ingot_XXXXXX").string();
  INGOT_REQUIRE(mkdtemp(name.data()) != nullptr, "cannot make a temporary folder ", name, ": ", std::strerror(errno));
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code none;
  if (!path_.empty()) fs::remove_all(path_, none);
}

UnpackedModel unpack_model(const std::string& path, const std::string& wanted,
                           const std::function<bool(const std::string& metadata)>& needs_folder) {
  const std::string model_name = wanted.empty() ? usual_model(path) : wanted;
  const auto archive = std::make_shared<const Pt2Archive>(open_package(path));
  const Pt2Archive& a = *archive;
  const std::string folder = find_model(a, path, model_name);
  const std::vector<std::string> entries = entries_in(a, folder);
  std::vector<std::string> libraries, sources;
  for (const std::string& entry : entries) {
    if (entry.ends_with(".so")) libraries.push_back(entry);
    if (is_source(entry)) sources.push_back(entry);
  }
  INGOT_REQUIRE(libraries.size() <= 1, "Multiple .so files found in ", listed(libraries),
                ". You might need to clear your cache directory before calling aoti_compile again.");
  INGOT_REQUIRE(!libraries.empty() || sources.empty(), path, ": model '", model_name, "' is in the package as sources (",
                listed(sources),
                ") and not as a library; Ingot has no C++ compiler to make one. Write the package again with the library in it");
  INGOT_REQUIRE(!libraries.empty(), path, ": Failed to find a generated cpp file or so file for model '", model_name,
                "' in the zip archive.");

  UnpackedModel model;
  model.archive = archive;
  model.metadata = metadata_of(a, folder);
  const bool into_folder = needs_folder && needs_folder(model.metadata);
  if (into_folder) model.folder.emplace();
  const auto unpack = [&](const std::string& entry) {
    if (into_folder) return model.folder->path() + "/" + entry;  // where all of them will be
    model.files.emplace_back(a.zip.read(text(a.top, folder, entry)).view(), text(path, ": ", entry));
    return model.files.back().path();
  };
  const std::string stem = libraries[0].substr(0, libraries[0].size() - 3);
  for (const std::string& entry : entries) {
    if (into_folder) extract(a, folder, entry, fs::path(model.folder->path()) / entry);
    if (entry == "weights_config.json") model.weights_config = a.read_text(folder + entry);
    else if (entry == libraries[0]) model.library = unpack(entry);
    else if (entry == stem + ".json") model.operators = unpack(entry);
    else if (entry.ends_with(".blob")) model.weights_blob = unpack(entry);
    else if (entry.ends_with(".safetensors")) model.beside.emplace(entry, unpack(entry));
  }
  if (into_folder)
    for (const std::string& entry : entries_in(a, std::string(kConstants)))
      extract(a, std::string(kConstants), entry, fs::path(model.folder->path()) / fs::path(entry).filename());
  return model;
}

namespace {

// The unpacked models of this process. Who wants one that somebody is unpacking waits for that one
// alone: it may be gigabytes.
class SharedModels {
 public:
  using Key = std::tuple<dev_t, ino_t, off_t, time_t, long, std::string>;

  template <class Unpack>
  std::shared_ptr<const UnpackedModel> get(const Key& key, Unpack unpack) {
    // A fork in the middle of something has only half of it, and forgets all.
    fork_mark_.is_sound([this] {
      if (!is_idle()) all_ = new All;
      return true;
    });
    const Use use(*all_, key);
    const std::scoped_lock lock(use.place.unpacking);
    std::shared_ptr<const UnpackedModel> model = use.place.model.lock();
    if (!model) use.place.model = model = unpack();
    return model;
  }

 private:
  struct Place {
    std::mutex unpacking;  // guards `model`
    std::weak_ptr<const UnpackedModel> model;
    int users = 0;  // those who are asking for it
  };
  struct All {
    std::mutex mutex;  // of the map and the counts of users
    std::map<Key, Place> places;
  };
  struct Use {
    Use(All& a, const Key& key) : all(a), place(begin(a, key)) {}
    ~Use() {
      const std::scoped_lock lock(all.mutex);
      place.users--;
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    static Place& begin(All& all, const Key& key) {
      const std::scoped_lock lock(all.mutex);
      std::erase_if(all.places, [](const auto& entry) { return entry.second.users == 0 && entry.second.model.expired(); });
      Place& place = all.places[key];
      place.users++;
      return place;
    }

    All& all;
    Place& place;
  };

  // For who is alone with it.
  bool is_idle() {
    const std::unique_lock lock(all_->mutex, std::try_to_lock);
    return lock && std::ranges::all_of(all_->places, [](const auto& entry) { return entry.second.users == 0; });
  }

  All* all_ = new All;
  ForkMark fork_mark_;
};

}  // namespace

std::shared_ptr<const UnpackedModel> share_model(const std::string& path, const std::string& model_name) {
  static SharedModels& shared = *new SharedModels;  // never destroyed: a thread may still ask while the process ends
  struct stat about{};
  const auto unpacked = [&] { return std::make_shared<const UnpackedModel>(unpack_model(path, model_name)); };
  if (stat(path.c_str(), &about) != 0) return unpacked();  // which says what is wrong with it
  return shared.get({about.st_dev, about.st_ino, about.st_size, about.st_mtim.tv_sec, about.st_mtim.tv_nsec, model_name},
                    unpacked);
}

bool UnpackedModel::has_weight(const std::string& name) const { return archive->contains(text(kWeights, name)); }

OwnedBytes UnpackedModel::weight(const std::string& name) const { return archive->zip.read(text(archive->top, kWeights, name)); }

std::vector<std::string> package_models(const std::string& path) { return open_package(path).compiled; }

std::string read_model_metadata(const std::string& path, const std::string& model_name) {
  const Pt2Archive a = open_package(path);
  return metadata_of(a, find_model(a, path, model_name));
}

void write_package(const std::string& path, const std::vector<PackagedModel>& models) {
  INGOT_REQUIRE(!models.empty(), "a package needs at least one model");
  std::set<std::string> names;
  for (const PackagedModel& m : models) {
    const bool is_plain = !m.name.empty() && m.name.find('/') == m.name.npos && zip_name_fault(m.name).empty();
    INGOT_REQUIRE(is_plain, "'", m.name, "' cannot be the name of a model in a package: it would be a folder's name");
    INGOT_REQUIRE(names.insert(m.name).second, "two models of the package are called '", m.name, "'");
  }
  const std::string top = fs::path(path).stem().string() + "/";
  ZipWriter zip(path, kPageBytes);
  zip.add(top + "archive_format", "pt2");
  zip.add(top + "archive_version", "0");
  zip.add(top + "byteorder", "little");
  zip.add(top + ".data/version",
          "6\n");  // of the archive's own layout; PyTorch's reader takes a file without it for an outdated one
  for (const PackagedModel& m : models) {
    const std::string stem = text(top, kModels, m.name, "/", m.name, ".wrapper");
    zip.add(stem + ".so", MappedFile::open(m.library)->bytes());
    zip.add(stem + "_metadata.json", m.metadata);
    zip.add(stem + ".cpp", kNoSource);  // PyTorch 2.11 and before find the metadata by the name of the source (I106)
    if (!m.weights.empty())
      zip.add(text(top, kModels, m.name, "/", fs::path(m.weights).filename().string()), MappedFile::open(m.weights)->bytes());
  }
  zip.finish_with_checksum(kPackageWords);
}

}  // namespace ingot
