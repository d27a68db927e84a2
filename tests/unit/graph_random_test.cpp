// parse(print(g)) == g, for graphs nobody thought of.
#include <gtest/gtest.h>

#include <set>

#include "graph/copy.hpp"
#include "graph/dead_code.hpp"
#include "graph/same.hpp"
#include "graph/text.hpp"
#include "graph/verify.hpp"
#include "support/error_text.hpp"
#include "support/random_graph.hpp"

namespace ingot {
namespace {

TEST(GraphRandom, TextsComeBack) {
  std::set<const Op*> ops;
  std::size_t kinds[static_cast<std::size_t>(NodeKind::unsupported) + 1] = {}, subgraphs = 0;
  for (uint64_t seed = 0; seed < 10000; seed++) {
    const Graph g = random_graph(seed, seed % 10 == 0 ? 2 : 1);
    ASSERT_EQ(find_fault(g), "") << seed;
    for (const auto& n : g.nodes()) {
      kinds[static_cast<std::size_t>(n->kind)]++;
      if (n->op) ops.insert(n->op);
    }
    for (const auto& [key, attribute] : g.attributes) subgraphs += attribute.index();
    for (const GraphForm form : {GraphForm::plain, seed % 2 ? GraphForm::readable : GraphForm::full}) {
      const std::string text = print(g, form);
      const Graph back = parse_graph(text, {.attributes = &g.attributes});
      ASSERT_EQ(difference(g, back), "") << seed << "\n" << text;
      ASSERT_EQ(print(back, form), text) << seed;
    }
  }
  for (const std::size_t k : kinds) EXPECT_GT(k, 1000u);
  EXPECT_GT(subgraphs, 1000u);
  EXPECT_GT(ops.size(), all_ops().size() / 2);
}

TEST(GraphRandom, CopiesAndLiveCodeKeepTheRules) {
  for (uint64_t seed = 0; seed < 1000; seed++) {
    const Graph g = random_graph(seed), live = without_dead_code(g);
    ASSERT_EQ(difference(g, clone(g)), "") << seed;
    ASSERT_EQ(find_fault(live), "") << seed;
    ASSERT_EQ(difference(live, without_dead_code(live)), "") << seed;
  }
}

// A text with a part cut out or a byte changed is a graph or a user error.
TEST(GraphRandom, SpoiledTextsAreRefusedOrGraphs) {
  int refused = 0;
  for (uint64_t seed = 0; seed < 3000; seed++) {
    const Graph g = random_graph(seed % 300);
    std::string text = print(g, seed % 2 ? GraphForm::plain : GraphForm::full);
    const std::size_t at = seed * 7919 % text.size();
    if (seed % 3 == 0) text.erase(at, 1 + seed % 17);
    else if (seed % 3 == 1) text[at] = static_cast<char>(seed % 256);
    else text.insert(at, text.substr(seed * 104729 % text.size(), 1 + seed % 29));
    try {
      const Graph read = parse_graph(text, {.attributes = &g.attributes});
      if (find_fault(read, GraphForm::plain).empty()) {  // annotations may say anything, and read back
        const Graph back = parse_graph(print(read), {.attributes = &read.attributes});
        ASSERT_EQ(difference(read, back), "") << seed << "\n" << text;
      }
    } catch (const UserError&) {
      refused++;
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace ingot
