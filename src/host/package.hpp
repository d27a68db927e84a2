// Packages: compiled models in a .pt2 archive (I105 to I113).
#pragma once
#include <string>
#include <vector>

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

// One model of a package, taken out of it.
struct UnpackedModel {
  TemporaryFolder folder;          // its files; data/constants among them
  std::string library;             // the path of its .so
  std::string metadata;            // … of its metadata
  std::string weights_blob;        // … of a file with all constants; empty: none
  std::string weights_config;      // … of the list of constants that lie in `weights`; empty: none
  std::string weights_folder;      // data/weights, where there is a list
};

// Whether the name is that of a package; other files are libraries.
inline bool is_package(const std::string& path) { return path.ends_with(".pt2"); }

// Without a name the only model, or the one that is called "model". User error in the words of I105
// to I113 for an archive that is none, and for a model that is not in it.
UnpackedModel unpack_model(const std::string& path, const std::string& model_name);

// The bytes of the model's metadata file (JSON), without unpacking the rest.
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
