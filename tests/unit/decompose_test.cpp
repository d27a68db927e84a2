// What core_decompositions takes apart, and what it leaves.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "graph/interpret.hpp"
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

// Those that compute with tensors: where a size is read is anybody's choice.
std::vector<std::string> calls_of(const Graph& g) {
  std::vector<std::string> calls;
  for (const auto& n : g.nodes())
    if (n->kind == NodeKind::call && !n->meta.is_number()) calls.push_back(n->op->qualified());
  return calls;
}
bool has_program(const Graph& g) {
  return std::ranges::any_of(g.nodes(),
                             [](const auto& n) { return n->kind == NodeKind::call && core_decompositions().contains(n->op); });
}

// The pass over a graph and a trace with the table leave the same calls.
TEST_F(Decompose, AGraphComesApartAsATraceDoes) {
  const TensorFunction f = [](const TensorList& in) {
    const TensorList norm = atens<"native_layer_norm">(in[0], Shape{4}, in[1], in[1], 1e-5);
    return TensorList{aten<"sin">(norm[0]) + norm[1], aten<"mse_loss">(norm[0], in[0], 1)};
  };
  const TensorList in{randn({3, 4}), randn({4})};
  const Traced whole = trace(f, in), apart = trace(f, in, {.decompositions = &core_decompositions()});
  ShapeEnv sizes;
  const Graph made = run_passes(whole.graph, std::array{decompose_pass(sizes)});
  EXPECT_TRUE(has_program(whole.graph));
  EXPECT_FALSE(has_program(made));
  EXPECT_EQ(calls_of(made), calls_of(apart.graph));
  const Values want = Interpreter(whole.graph).run(Values{in[0], in[1]}), found = Interpreter(made).run(Values{in[0], in[1]});
  for (std::size_t k = 0; k < want.size(); k++) EXPECT_TRUE(allclose(found[k].tensor(), want[k].tensor())) << k;
}

// Of open sizes, too: what the programs compute with them is made of those that the graph has.
TEST_F(Decompose, OpenSizesStayOpen) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor both = cat({in[0], in[0]});
    return TensorList{atens<"native_layer_norm">(both, Shape{4}, in[1], in[1], 1e-5)[0],
                      aten<"huber_loss_backward">(in[1].sum(), both, both * 2, 1, 1.0)};
  };
  const TensorList in{randn({3, 4}), randn({4})};
  const std::vector<OpenSize> open{{.input = 0, .dim = 0}};
  Traced whole = trace(f, in, {.open = open});
  const Traced apart = trace(f, in, {.open = open, .decompositions = &core_decompositions()});
  const Graph made = run_passes(whole.graph, std::array{decompose_pass(whole.sizes)});
  EXPECT_TRUE(has_program(whole.graph));
  EXPECT_FALSE(has_program(made));
  EXPECT_EQ(calls_of(made), calls_of(apart.graph)) << print(made) << print(apart.graph);
  EXPECT_EQ(whole.sizes.listing(), apart.sizes.listing());
  const Values longer{randn({7, 4}), in[1]};
  const Values want = Interpreter(whole.graph).run(longer), found = Interpreter(made).run(longer);
  for (std::size_t k = 0; k < want.size(); k++) EXPECT_TRUE(allclose(found[k].tensor(), want[k].tensor())) << k;
}

// What is made "like" an operand whose elements share places lies as it does when the function is
// run.
TEST_F(Decompose, OperandsLieInTheProgramAsTheyDoInTheGraph) {
  const TensorFunction f = [](const TensorList& in) {
    return TensorList{atens<"native_dropout">(in[0].t().expand({2, -1, -1}), 0.5, true)[0]};
  };
  const TensorList in{randn({3, 4})};
  ShapeEnv sizes;
  const Graph made = run_passes(trace(f, in).graph, std::array{decompose_pass(sizes)});
  EXPECT_EQ(to_text(made.outputs[0].node()->meta.tensor().strides()), "[12, 1, 4]") << print(made, GraphForm::full);
  EXPECT_EQ(to_text(f(in)[0].strides()), "[12, 1, 4]");
}

}  // namespace
}  // namespace ingot
