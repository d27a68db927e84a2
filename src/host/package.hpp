// Packages: compiled models in a .pt2 archive (I105 to I113).
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/file.hpp"
#include "io/zip.hpp"

namespace ingot {

// A folder for files of this process, removed with all that is in it when the value ends.
class TemporaryFolder {
 public:
  TemporaryFolder();  // user error if none can be made
  ~TemporaryFolder();
  TemporaryFolder(TemporaryFolder&& o) noexcept : path_(std::move(o.path_)) { o.path_.clear(); }
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Pt2Archive;

// One model of a package, taken out of it. Its files have no names and go with the process, so that
// nothing is left of them when it is killed; those that nobody but a loader reads are not copied.
struct UnpackedModel {
  std::string library;                        // the path of its .so
  std::string operators;                      // … of the list of operators that have no code in it; empty: none
  std::map<std::string, std::string> beside;  // … of the files with weights that it may look for beside itself, by name
  std::string weights_blob;                   // … of a file with all constants; empty: none
  std::string metadata;                       // the text of its metadata (JSON); empty: none
  std::optional<std::string> weights_config;  // … of the list of constants that lie in data/weights
  std::optional<TemporaryFolder> folder;      // where it was asked for
  std::vector<AnonymousFile> files;           // what the paths are of otherwise
  std::shared_ptr<const Pt2Archive> archive;

  bool has_weight(const std::string& name) const;
  OwnedBytes weight(const std::string& name) const;  // of data/weights, from the package itself
};

// Whether the name is that of a package; other files are libraries.
inline bool is_package(const std::string& path) { return path.ends_with(".pt2"); }

// Without a name the only model, or the one that is called "model". User error in the words of I105
// to I113 for an archive that is none, and for a model that is not in it.
//
// `needs_folder`: whether the model with that metadata is for a device whose code looks for its
// files (I108). They then lie in a folder, under their names, data/constants among them.
UnpackedModel unpack_model(const std::string& path, const std::string& model_name,
                           const std::function<bool(const std::string& metadata)>& needs_folder = {});

// The same, once for all in this process who have it at the same time: its library is then loaded
// once, and what its containers share is shared. A package that was written anew is another one.
std::shared_ptr<const UnpackedModel> share_model(const std::string& path, const std::string& model_name);

// The names of the models in it, none for one of exported programs alone.
std::vector<std::string> package_models(const std::string& path);

// The text of the model's metadata file (JSON), without unpacking the rest. "" where it has none.
std::string read_model_metadata(const std::string& path, const std::string& model_name);

// What one model of a new package is made of.
struct PackagedModel {
  std::string name;      // in the package
  std::string library;   // a file
  std::string metadata;  // JSON
  std::string weights;   // a file that must lie beside the library under its own name; empty: none
};
// Writes a package of these models. The file appears whole or not at all; the same models give the
// same bytes.
void write_package(const std::string& path, const std::vector<PackagedModel>& models);

}  // namespace ingot
