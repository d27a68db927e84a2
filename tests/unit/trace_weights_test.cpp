// Tensors that a traced function brings along (A132, A133 of the dispatch specification).
#include <gtest/gtest.h>

#include "graph/interpret.hpp"
#include "graph/trace.hpp"
#include "ingot/ingot.hpp"
#include "ingot/nn.hpp"
#include "op/call.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"

namespace ingot {
namespace {

using TraceWeights = NoLeaks;

TEST_F(TraceWeights, A132_WeightsStayAttributesOfASymbolicGraph) {
  nn::Linear linear(5, 5);
  linear.eval();
  const TensorFunction f = [&](const TensorList& in) { return TensorList{linear(in[0])}; };
  const Traced first = trace(f, {randn({2, 5})}, {.with = TraceWith::symbols});
  const TensorFunction graph = [&](const TensorList& in) {
    const Values out = Interpreter(first.graph).run(Values(in.begin(), in.end()));
    return TensorList{out[0].tensor()};
  };
  const Traced second = trace(functionalize(graph), {randn({2, 5})}, {.with = TraceWith::symbols});
  const Tensor x = ones({2, 5});
  for (const Traced* t : {&first, &second}) {
    EXPECT_EQ(t->graph.inputs().size(), 1u);
    EXPECT_EQ(t->graph.attributes.size(), 2u);
    EXPECT_EQ(run(*t, Tree::list({x}))[0].leaf().tensor().detach().to_vector<double>(), linear(x).detach().to_vector<double>());
  }
  const std::string message =
      error_of([&] { trace(f, {randn({2, 5})}, {.with = TraceWith::symbols, .allow_constants = false}); });
  EXPECT_NE(message.find("Please convert all Tensors to FakeTensors"), std::string::npos) << message;
}

TEST_F(TraceWeights, A133_ABufferIsNotResizedWhileItIsTraced) {
  const Tensor buffer = ones({4, 5});
  const TensorFunction f = [&](const TensorList& in) {
    const Tensor y = Tensor(buffer).add_(3);
    aten_value<"resize_">(y, Shape{20});
    return TensorList{in[0].sum() + buffer.sum()};
  };
  const std::string message = error_of([&] { trace(f, {randn({2, 5})}, {.with = TraceWith::symbols}); });
  EXPECT_NE(message.find("Can't call metadata"), std::string::npos) << message;
  EXPECT_EQ(buffer.sizes(), Shape({4, 5}));
  EXPECT_NE(error_of([&] {
              trace([&](const TensorList& in) { return TensorList{in[0] + aten_value<"t_">(buffer).tensor().sum()}; },
                    {randn({2})});
            }).find("Can't call metadata"),
            std::string::npos);
}

}  // namespace
}  // namespace ingot
