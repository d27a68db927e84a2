// No message asks its reader to file an issue: whoever reads it is told what to do. The few that do
// are PyTorch's own words, which the specification demands, or which PyTorch's op has.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace ingot {
namespace {

std::filesystem::path project() { return std::filesystem::path(INGOT_TEST_DATA).parent_path().parent_path(); }

// The text in small letters, with one space between words, as a reader of the message has it: the
// literals of a source that are written as several are one, and a new line in them is a space.
std::string running_text(const std::filesystem::path& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in.is_open()) << path;
  std::stringstream all;
  all << in.rdbuf();
  std::string s = all.str(), found;
  for (std::size_t i = 0; i < s.size(); i++)
    if (s.compare(i, 2, "\\n") == 0) s.replace(i, 2, "  ");
  for (std::size_t i = 0; i < s.size(); i++) {
    const auto next_word = [&](std::size_t k) {
      while (k < s.size() && std::isspace(static_cast<unsigned char>(s[k]))) k++;
      return k;
    };
    if (s[i] == '"')
      if (const std::size_t k = next_word(i + 1); k > i + 1 && k < s.size() && s[k] == '"') {
        i = k;
        continue;
      }
    if (s[i] == '`') continue;  // quotes of the specification
    const bool is_space = std::isspace(static_cast<unsigned char>(s[i]));
    if (is_space && !found.empty() && found.back() == ' ') continue;
    found += is_space ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(s[i])));
  }
  return found;
}

struct Words {
  const char* file;
  std::vector<std::string> ids;  // of the entries of docs/spec that say so; none: PyTorch's op says it
  const char* words;
};
const std::vector<Words>& words_of_pytorch() {
  static const std::vector<Words> all = {
      {"src/aot/debug_assert.cpp",
       {"R078", "R154"},
       "but at runtime this was not the case. this indicates a guard bug in aotautograd or dynamo, please file a bug to pytorch."},
      {"src/aot/dedupe.cpp",
       {"R077"},
       "this is not supported today. you can try to remove the aliasing yourself as a workaround, or otherwise file an issue on "
       "github."},
      // R090 has it shortened to "this is not supported today. …", R077 in full.
      {"src/aot/synthetic_base.cpp",
       {"R077"},
       "this is not supported today. you can try to remove the aliasing yourself as a workaround, or otherwise file an issue on "
       "github."},
      {"src/aot/metadata.cpp", {"R021"}, "if you encounter this error while using torch.compile, please file a bug."},
      {"src/aot/training.cpp", {"R147"}, "if you run into this error, please file an issue."},
      {"src/aot/export.cpp",
       {"R170", "R171"},
       "this is currently banned in the aot_export workflow. if you need this functionality, please file a github issue."},
      {"src/aot/export.cpp", {"R172"}, "if you need this feature, please comment on <create_issue_link>"},
      {"src/aot/export.cpp",
       {"R173"},
       "functionalized rng is not currently supported in the aot_export workflow. please file a github issue,"},
      {"src/aot/export.cpp",
       {"R077", "R090"},
       "this functionality is currently not supported. if needed, please file a github issue."},
      // PyTorch's functorch, of .item() and of writes to what has no batch:
      // tests/unit/vmap_test.cpp has both in full.
      {"src/ops/shape/queries.cpp", {}, "if error is occurring somewhere inside pytorch internals, please file a bug report."},
      {"src/transform/vmap_handler.cpp",
       {},
       "if said operator is being called inside the pytorch framework, please file a bug report instead."},
      // What PyTorch says for every check without words of its own (TORCH_CHECK).
      {"src/ops/quantize/fake_quantize.cpp",
       {},
       "(could this error message be improved? if so, please report an enhancement request to pytorch.)"},
      {"src/ops/conv/deform_conv.cpp",
       {},
       "(could this error message be improved? if so, please report an enhancement request to pytorch.)"},
  };
  return all;
}

const std::regex& asks_for_an_issue() {
  static const std::regex phrase(
      "\\b(file|open|create|report|raise|submit) (us )?(an?|the) ([a-z]+ )?(issue|bug|ticket|request)\\b|\\bfile us\\b|"
      "create_issue_link");
  return phrase;
}

// Every place that asks, with some words around it. Looked for only near the nouns: std::regex over
// all sources takes a minute.
std::vector<std::string> asks_in(const std::string& text) {
  constexpr std::size_t kBefore = 40, kAfter = 20;
  std::vector<std::string> found;
  for (const char* noun : {"issue", "bug", "ticket", "request", "file us"}) {
    for (std::size_t at = 0; (at = text.find(noun, at)) != std::string::npos; at++) {
      const std::size_t first = at - std::min(at, kBefore);
      const std::string around = text.substr(first, at - first + kAfter);
      if (std::regex_search(around, asks_for_an_issue())) found.push_back(around);
    }
  }
  return found;
}

// Takes the words out, and says whether they were there.
bool take_out(std::string& from, const std::string& words) {
  bool found = false;
  for (std::size_t at = 0; (at = from.find(words, at)) != std::string::npos; found = true) from.replace(at, words.size(), "…");
  return found;
}

TEST(Words, NoMessageAsksForAnIssue) {
  std::vector<std::filesystem::path> sources;
  for (const char* folder : {"src", "include"})
    for (const auto& e : std::filesystem::recursive_directory_iterator(project() / folder))
      if (e.is_regular_file()) sources.push_back(e.path());
  std::sort(sources.begin(), sources.end());
  EXPECT_GT(sources.size(), 400u);
  std::size_t taken = 0;
  for (const std::filesystem::path& path : sources) {
    const std::string name = std::filesystem::relative(path, project()).generic_string();
    std::string text = running_text(path);
    for (const Words& w : words_of_pytorch()) {
      if (name != w.file) continue;
      EXPECT_TRUE(take_out(text, w.words)) << name << " no longer says: " << w.words;
      taken++;
    }
    for (const std::string& ask : asks_in(text))
      ADD_FAILURE() << name << " says '… " << ask << " …': say what the reader can do, or name the entry of docs/spec "
                    << "that demands these words here";
  }
  EXPECT_EQ(taken, words_of_pytorch().size()) << "a file of the list is gone";
}

TEST(Words, TheSpecificationDemandsThem) {
  const std::string spec = running_text(project() / "docs/spec/aot_autograd.md");
  for (const Words& w : words_of_pytorch()) {
    EXPECT_FALSE(asks_in(w.words).empty()) << w.words;
    for (std::string id : w.ids) {
      id[0] = 'r';
      const std::size_t first = spec.find("- **" + id + "**"), last = spec.find("- **r", first + 1);
      ASSERT_NE(first, std::string::npos) << id;
      EXPECT_NE(spec.substr(first, last - first).find(w.words), std::string::npos) << id << " does not say: " << w.words;
    }
  }
}

// The test can fail.
TEST(Words, AsksAreFoundInTheirForms) {
  for (const char* text : {"please file an issue on github", "file a bug report", "please file a github issue", "file us a bug",
                           "open an issue", "report a bug", "please report an enhancement request"})
    EXPECT_FALSE(asks_in(text).empty()) << text;
  for (const char* text : {"what this .pt2 file uses", "the file a user gave", "this is a defect of ingot, please report it"})
    EXPECT_TRUE(asks_in(text).empty()) << text;
}

}  // namespace
}  // namespace ingot
