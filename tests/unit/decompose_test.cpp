// What core_decompositions takes apart, and what it leaves.
#include <gtest/gtest.h>

#include "graph/text.hpp"
#include "graph/trace.hpp"
#include "ingot/autograd.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "pass/decompose.hpp"
#include "support/no_leaks.hpp"

namespace ingot {
namespace {

using Decompose = NoLeaks;

TEST_F(Decompose, ABodyThatIsAKernelStaysWhole) {
  const auto graph_of = [](const TensorFunction& f, const TensorList& examples) {
    const Traced t = trace(f, examples, {.decompositions = &core_decompositions()});
    EXPECT_TRUE(t.graph.attributes.empty()) << "a result that no node makes";
    return print(t.graph);
  };
  const std::string convolution = graph_of(
      [](const TensorList& in) {
        return atens<"convolution_backward">(in[0], in[1], in[2], Value(), Shape{1, 1}, Shape{0, 0}, Shape{1, 1}, false,
                                             Shape{0, 0}, 1, std::vector<bool>{true, true, false});
      },
      {randn({1, 2, 3, 3}), randn({1, 2, 5, 5}), randn({2, 2, 3, 3})});
  EXPECT_NE(convolution.find("aten.convolution_backward.default"), std::string::npos) << convolution;
  const std::string sampler = graph_of(
      [](const TensorList& in) {
        return atens<"grid_sampler_2d_backward">(in[0], in[1], in[2], 0, 0, false, std::vector<bool>{true, true});
      },
      {randn({1, 2, 3, 3}), randn({1, 2, 5, 5}), randn({1, 3, 3, 2})});
  EXPECT_NE(sampler.find("aten.grid_sampler_2d_backward.default"), std::string::npos) << sampler;
}

}  // namespace
}  // namespace ingot
