// The tracing tests of the A-specification that need containers, modules or writes. The others are
// in gradients_test.cpp, vmap_test.cpp (A004) and functionalize_test.cpp (A007).
#include <gtest/gtest.h>

#include <cmath>

#include "graph/interpret.hpp"
#include "graph/trace.hpp"
#include "ingot/autograd.hpp"
#include "ingot/ingot.hpp"
#include "ingot/transforms.hpp"
#include "op/call.hpp"
#include "support/no_leaks.hpp"
#include "support/resnet18.hpp"
#include "support/sanitized.hpp"

namespace ingot::testing {
namespace {

class TraceSpec : public NoLeaks {};

std::vector<double> values(const Tree& t) { return t.leaf().tensor().to_vector<double>(); }

// The trace of f, run on these arguments, which it was not traced with.
Tree traced(const TreeFunction& f, const Tree& example, const Tree& arguments) { return run(trace(f, example), arguments); }

TEST_F(TraceSpec, A009_AFunctionOfOneTensor) {
  const TreeFunction f = [](const Tree& in) { return Tree(in[0].leaf().tensor().sin()); };
  const Tree in = Tree::tuple({randn({3})});
  EXPECT_EQ(values(traced(f, Tree::tuple({randn({3})}), in)), values(f(in)));
}

TEST_F(TraceSpec, A010_OfATensorWithoutDims) {
  const TreeFunction f = [](const Tree& in) { return Tree(in[0].leaf().tensor().sin()); };
  const Tree in = Tree::tuple({randn({})});
  EXPECT_EQ(values(traced(f, Tree::tuple({randn({})}), in)), values(f(in)));
}

TEST_F(TraceSpec, A011_ContainersAreTakenApartAndRebuilt) {
  const TreeFunction f = [](const Tree& in) { return Tree::list({in[0][0].leaf().tensor().sin()}); };
  const auto argument = [] { return Tree::tuple({Tree::list({randn({3})})}); };
  const Tree in = argument(), got = traced(f, argument(), in);
  EXPECT_EQ(got.type(), "builtins.list");
  EXPECT_EQ(values(got[0]), values(f(in)[0]));
}

TEST_F(TraceSpec, A012_AnOpWithAKernelOfItsOwn) {
  const TreeFunction f = [](const Tree& in) { return Tree(aten<"mv">(in[0].leaf().tensor(), in[1].leaf().tensor())); };
  const Tree in = Tree::tuple({randn({3, 3}), randn({3})});
  EXPECT_EQ(values(traced(f, Tree::tuple({randn({3, 3}), randn({3})}), in)), values(f(in)));
}

TEST_F(TraceSpec, A013_WhatIsPassedThroughIsTheArgument) {
  const TreeFunction both = [](const Tree& in) { return Tree::tuple({in[0].leaf().tensor() + in[1].leaf().tensor(), in[1]}); };
  const Tree in = Tree::tuple({randn({3}), randn({3})});
  const Tree got = traced(both, Tree::tuple({randn({3}), randn({3})}), in);
  EXPECT_EQ(values(got[0]), values(both(in)[0]));
  EXPECT_TRUE(got[1].leaf().tensor().is_same(in[1].leaf().tensor()));

  const TreeFunction rebinds = [](const Tree& in) {
    return Tree::dict({{Value("a"), in[0].at("a").leaf().tensor() * 2}, {Value("b"), in[0].at("b")}});
  };
  const auto argument = [] { return Tree::tuple({Tree::dict({{Value("a"), randn({3})}, {Value("b"), randn({3})}})}); };
  const Tree dict = argument(), again = traced(rebinds, argument(), dict);
  EXPECT_EQ(values(again.at("a")), values(rebinds(dict).at("a")));
  EXPECT_TRUE(again.at("b").leaf().tensor().is_same(dict[0].at("b").leaf().tensor()));
}

TEST_F(TraceSpec, A014_BackwardOfResNet18) {
  constexpr int64_t kSize = kSanitized ? 32 : 250;
  manual_seed(0);
  ResNet18 net;
  const std::size_t parameters = net.parameters().size();
  TensorList state;
  for (const auto& [name, t] : net.state()) state.push_back(t.detach().clone());
  // (parameters, buffers, image) -> gradients of the parameters
  const TensorFunction gradients = [&](const TensorList& in) {
    TensorList own(in.begin(), in.end() - 1), variables;
    for (std::size_t i = 0; i < parameters; i++) variables.push_back(own[i] = own[i].detach().requires_grad_());
    const nn::StateScope scope(net, own);
    return grad({net(in.back()).sum()}, variables);
  };
  const auto arguments = [&](const Tensor& image) {
    TensorList in;
    for (const Tensor& t : state) in.push_back(t.clone());
    in.push_back(image);
    return in;
  };
  const Traced t = trace(functionalize(gradients), arguments(randn({3, 3, kSize, kSize})));
  const TensorList in = arguments(randn({3, 3, kSize, kSize})), want = gradients(arguments(in.back()));
  const Values got = Interpreter(t.graph).run(Values(in.begin(), in.end()));
  ASSERT_EQ(got.size(), parameters);
  for (std::size_t k = 0; k < parameters; k++) {
    const std::vector<double> a = want[k].to_vector<double>(), b = got[k].tensor().to_vector<double>();
    double largest = 0, scale = 0;
    for (std::size_t i = 0; i < a.size(); i++)
      largest = std::max(largest, std::abs(a[i] - b[i])), scale = std::max(scale, std::abs(a[i]));
    EXPECT_LE(largest, 1e-5 * scale) << "gradient " << k;
  }
}

}  // namespace
}  // namespace ingot::testing
