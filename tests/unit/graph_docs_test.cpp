// The texts of docs/ir.md are graphs, and print as they stand there.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "graph/same.hpp"
#include "graph/text.hpp"
#include "graph/verify.hpp"

namespace ingot {
namespace {

TEST(GraphDocs, TextsOfTheIrPage) {
  std::ifstream doc(std::filesystem::path(INGOT_TEST_DATA).parent_path().parent_path() / "docs/ir.md");
  std::vector<std::string> blocks;
  for (std::string line; std::getline(doc, line);) {
    if (line != "```text") continue;
    std::string& block = blocks.emplace_back();
    while (std::getline(doc, line) && line != "```") block += line + "\n";
  }
  ASSERT_EQ(blocks.size(), 2u);
  const Graph g = parse_graph(blocks[0]);
  EXPECT_EQ(find_fault(g), "");
  EXPECT_EQ(print(g, GraphForm::readable), blocks[0]);
  EXPECT_EQ(print(g), blocks[1]);
  EXPECT_EQ(difference(g, parse_graph(print(g, GraphForm::full))).substr(0, 10), "attribute ");  // its weight is another tensor
  EXPECT_EQ(difference(g, parse_graph(blocks[1], {.attributes = &g.attributes})), "");
}

}  // namespace
}  // namespace ingot
