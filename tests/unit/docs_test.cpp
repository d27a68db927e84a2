// What the documentation quotes is what the files say.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace {

std::filesystem::path root() { return std::filesystem::path(INGOT_TEST_DATA).parent_path().parent_path(); }

std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

// The blocks of the page that name a file are in that file, word for word. How many there are.
int blocks_of(const char* page) {
  std::istringstream doc(contents(root() / "docs" / page));
  int blocks = 0;
  std::string line;
  while (std::getline(doc, line)) {
    // ```cpp path/of/file
    if (!line.starts_with("```") || line.find(' ') == std::string::npos) continue;
    const std::string file = line.substr(line.find(' ') + 1);
    std::string block;
    while (std::getline(doc, line) && line != "```") block += line + "\n";
    const std::string source = contents(root() / file);
    EXPECT_FALSE(source.empty()) << file;
    EXPECT_NE(source.find(block), std::string::npos) << file << " does not hold:\n" << block;
    blocks++;
  }
  return blocks;
}

TEST(Docs, PagesQuoteTheSources) {
  EXPECT_EQ(blocks_of("adding-an-op.md"), 2);
  EXPECT_EQ(blocks_of("adding-a-pass.md"), 3);
  EXPECT_EQ(blocks_of("adding-a-backend.md"), 12);
  EXPECT_EQ(blocks_of("adding-a-format.md"), 5);
}

}  // namespace
