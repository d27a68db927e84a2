// Sources include the standard headers that they use. Newer standard libraries bring fewer along by
// themselves, so a source that forgets one compiles here and not on the next system: libstdc++ 14
// and 16 found those that the table asks about.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace ingot {
namespace {

namespace fs = std::filesystem;

const fs::path& root() {
  static const fs::path r = fs::path(INGOT_TEST_DATA).parent_path().parent_path();
  return r;
}

struct File {
  std::string code;               // without comments that are lines of their own
  std::set<std::string> headers;  // <…> of its own and of what it includes
};

// The file that `#include "name"` means in `from`; empty for what is no file of the project.
fs::path find_included(const std::string& name, const fs::path& from) {
  for (const fs::path& folder : {from.parent_path(), root() / "src", root() / "include", root() / "tests"})
    if (fs::exists(folder / name)) return folder / name;
  return {};
}

const File& read(const fs::path& path) {
  static std::map<std::string, File> files;
  const auto [it, fresh] = files.try_emplace(path.string());
  File& file = it->second;
  if (!fresh) return file;
  static const std::regex include("^#include ([<\"])([^>\"]+)[>\"].*");
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    std::smatch m;
    if (std::regex_match(line, m, include)) {
      if (m[1] == "<") {
        file.headers.insert(m[2]);
      } else if (const fs::path other = find_included(m[2], path); !other.empty()) {
        const std::set<std::string> theirs = read(other).headers;
        it->second.headers.insert(theirs.begin(), theirs.end());
      }
    } else if (line.find_first_not_of(' ') == std::string::npos || line.substr(line.find_first_not_of(' ')).starts_with("//")) {
      continue;
    } else {
      file.code += line + "\n";
    }
  }
  return file;
}

struct Use {
  const char* what;
  std::regex spelling;
  std::vector<std::string> headers;  // any of these is promised to bring it
};

TEST(Includes, EverySourceBringsWhatItUses) {
  const std::vector<Use> uses = {
      {"a list in braces that is walked",
       std::regex("for \\([^;)]*: \\{"),
       {"initializer_list", "algorithm", "map", "set", "string", "string_view", "unordered_map", "unordered_set", "utility",
        "vector", "llvm/IR/IRBuilder.h", "CLI/CLI.hpp", "gtest/gtest.h"}},
      {"an integer of a fixed width",
       std::regex("\\bu?int(8|16|32|64)_t\\b"),
       {"cstdint", "stdint.h", "cinttypes", "llvm/IR/IRBuilder.h", "gtest/gtest.h"}},
      {"an algorithm",
       std::regex("std::(rotate|max_element|min_element|sort|stable_sort|find_if|any_of|all_of|none_of|count_if)\\b"),
       {"algorithm"}},
  };
  std::vector<fs::path> sources;
  for (const char* folder : {"src", "include", "tests"})
    for (const auto& e : fs::recursive_directory_iterator(root() / folder))
      if (const std::string x = e.path().extension().string(); x == ".cpp" || x == ".hpp") sources.push_back(e.path());
  std::sort(sources.begin(), sources.end());
  EXPECT_GT(sources.size(), 500u);
  for (const fs::path& path : sources) {
    const File& file = read(path);
    for (const Use& u : uses) {
      if (!std::regex_search(file.code, u.spelling)) continue;
      EXPECT_TRUE(std::any_of(u.headers.begin(), u.headers.end(), [&](const std::string& h) { return file.headers.contains(h); }))
          << fs::relative(path, root()).string() << " uses " << u.what << " and includes none of <" << u.headers[0] << "> …";
    }
  }
}

}  // namespace
}  // namespace ingot
