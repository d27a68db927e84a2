#include "check/suite.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "io/json.hpp"
#include "io/file.hpp"

namespace ingot {

namespace {

namespace fs = std::filesystem;

class Finder {
 public:
  explicit Finder(const fs::path& root) : root_(root) {}

  std::vector<Case> find() {
    walk(root_);
    std::sort(cases_.begin(), cases_.end(), [](const Case& a, const Case& b) { return a.name < b.name; });
    return std::move(cases_);
  }

 private:
  fs::path root_;
  std::vector<Case> cases_;

  // A folder is an index of op cases, a model, or holds further folders.
  void walk(const fs::path& folder) {
    if (fs::exists(folder / "index.json")) return add_ops(folder);
    if (fs::exists(folder / "model.pt2")) return add_model(folder);
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.is_directory()) walk(entry.path());
  }

  std::string name_of(const fs::path& path) const {
    const std::string name = fs::relative(path, root_).generic_string();
    return name == "." ? fs::absolute(path).lexically_normal().filename().string() : name;
  }

  void add_ops(const fs::path& folder) {
    const std::string path = (folder / "index.json").string();
    const Ref<MappedFile> file = MappedFile::open(path);
    const JsonDocument document(file->bytes(), path);
    for (const auto& [entry, facts] : document.root().fields()) {
      Case& c = cases_.emplace_back();
      const fs::path stem = folder / entry;
      c.kind = Case::Kind::op;
      c.name = name_of(stem);
      c.entry = entry;
      c.program = stem.string() + ".pt2";
      c.data = {stem.string() + ".safetensors"};
      c.has_gradients = facts.field("grad").boolean();
      c.is_random = facts.field("random").boolean();
      c.targets = facts.field("targets").map([](const Json& t) { return t.string(); });
      for (const auto& [key, strides] : facts.field("strides").fields())
        c.strides[std::string(key)] = strides.map([](const Json& s) { return s.integer(); });
    }
  }

  void add_model(const fs::path& folder) {
    Case& c = cases_.emplace_back();
    c.name = name_of(folder);
    c.program = (folder / "model.pt2").string();
    if (fs::exists(folder / "weights.json")) c.weights = (folder / "weights.json").string();
    if (const fs::path expected = folder / "expected.safetensors"; fs::exists(expected)) {
      c.kind = Case::Kind::train;
      c.data = {expected.string()};
      return;
    }
    for (int i = 0;; i++) {
      const fs::path data = folder / text("case", i, ".safetensors");
      if (!fs::exists(data)) break;
      c.data.push_back(data.string());
    }
    INGOT_REQUIRE(!c.data.empty(), folder.string(), " has a model.pt2, but no case0.safetensors to check it with");
  }
};

}  // namespace

std::vector<Case> find_cases(const std::string& folder) {
  INGOT_REQUIRE(fs::is_directory(folder), folder, " is no folder");
  std::vector<Case> cases;
  try {
    cases = Finder(folder).find();
  } catch (const fs::filesystem_error& e) {
    throw_user_error(e.what());
  }
  INGOT_REQUIRE(!cases.empty(), folder, " has no cases: neither an index.json nor a model.pt2 is in it or below it");
  return cases;
}

Case find_case(const std::string& program, const std::string& data) {
  const auto is_file = [](const fs::path& a, const fs::path& b) {
    std::error_code none;
    return fs::equivalent(a, b, none);
  };
  Case found;
  found.name = found.program = program;
  found.data = {data};
  const fs::path folder = fs::path(program).parent_path();
  // An index may be one folder up: ops/index.json for ops/add/f32_0.pt2.
  for (const fs::path& root : {folder, folder / ".."})
    if (fs::exists(root / "index.json"))
      for (Case& c : Finder(root).find())
        if (is_file(c.program, program)) return std::move(c);
  if (fs::path(data).filename() == "expected.safetensors") found.kind = Case::Kind::train;
  if (fs::exists(folder / "weights.json")) found.weights = (folder / "weights.json").string();
  return found;
}

bool matches(const Case& c, const std::string& glob) {
  const auto fits = [&](const std::string& s) { return fnmatch(glob.c_str(), s.c_str(), 0) == 0; };
  if (fits(c.name) || fits(c.entry)) return true;
  for (const std::string* name : {&c.name, &c.entry})
    for (std::size_t slash = name->find('/'); slash != name->npos; slash = name->find('/', slash + 1))
      if (fits(name->substr(0, slash)) || fits(name->substr(slash + 1))) return true;
  return std::any_of(c.targets.begin(), c.targets.end(),
                     [&](const std::string& t) { return fits(t) || fits(t.substr(0, t.rfind('.'))); });
}

}  // namespace ingot
