// The listings of docs/ir.md that programs make: the programs are here, the page has what they
// become.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "graph/dead_code.hpp"
#include "graph/text.hpp"
#include "graph/trace.hpp"
#include "ingot/ingot.hpp"
#include "ingot/transforms.hpp"

namespace ingot {
namespace {

TensorList program(const TensorList& in) {
  Tensor x = in[0], y = x * 2;
  y.select(0, 1).add_(Scalar(1));
  x.mul_(y);
  return {y, x.t()};
}

TEST(TransformDocs, ListingsOfTheIrPage) {
  std::ifstream doc(std::filesystem::path(INGOT_TEST_DATA).parent_path().parent_path() / "docs/ir.md");
  std::vector<std::string> blocks;
  for (std::string line; std::getline(doc, line);) {
    if (line != "```python") continue;
    std::string& block = blocks.emplace_back();
    while (std::getline(doc, line) && line != "```") block += line + "\n";
  }
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(print(trace(program, {ones({2, 2})}).graph), blocks[0]);
  EXPECT_EQ(print(without_dead_code(trace(functionalize(program), {ones({2, 2})}).graph)), blocks[1]);
}

}  // namespace
}  // namespace ingot
