// grad, vjp, jvp, jacrev, jacfwd and hessian, nested with each other, vmap, functionalize and
// trace.
#include <gtest/gtest.h>

#include <cmath>

#include "graph/interpret.hpp"
#include "graph/text.hpp"
#include "graph/trace.hpp"
#include "ingot/autograd.hpp"
#include "ingot/decompositions.hpp"
#include "ingot/ingot.hpp"
#include "ingot/transforms.hpp"
#include "op/call.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"

namespace ingot::testing {
namespace {

class Gradients : public NoLeaks {};

using Numbers = std::vector<double>;

Tensor count(const Shape& sizes) { return (arange(sizes.product()).to(float64).view(sizes) + 1) * 0.3; }
Numbers values(const Tensor& t) { return t.to_vector<double>(); }
void expect_near(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.sizes(), want.sizes());
  const Numbers a = values(got), b = values(want);
  for (std::size_t i = 0; i < a.size(); i++) EXPECT_NEAR(a[i], b[i], 1e-10 * (1 + std::abs(b[i]))) << "element " << i;
}
TensorList run_graph(const Graph& g, const TensorList& in) {
  TensorList out;
  for (const Value& v : Interpreter(g).run(Values(in.begin(), in.end()))) out.push_back(v.tensor());
  return out;
}
// The graph of f, run on inputs it was not traced with, does what f does.
void expect_traces(const TensorFunction& f, const TensorList& examples, const TensorList& inputs) {
  const TensorList want = f(inputs), got = run_graph(trace(f, examples).graph, inputs);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t k = 0; k < got.size(); k++) expect_near(got[k], want[k]);
}

TensorList sum_of_sines(const TensorList& in) { return {in[0].sin().sum()}; }
TensorList cubes(const TensorList& in) { return {(in[0] * in[0] * in[0]).sum()}; }

TEST_F(Gradients, A001_ATraceHasNoDataInIt) {
  expect_traces([](const TensorList& in) { return TensorList{in[0].sin()}; }, {count({3})}, {count({3}).neg()});
}

TEST_F(Gradients, A002_GradOfAScalarFunction) {
  const Tensor x = count({3});
  expect_near(grad(sum_of_sines)({x})[0], x.cos());
  EXPECT_FALSE(grad(sum_of_sines)({x})[0].requires_grad());
  EXPECT_FALSE(x.grad().defined());
  expect_traces(grad(sum_of_sines), {x}, {x.neg()});
}

TEST_F(Gradients, A003_NumbersAndZeroDimTensorsPromoteInATrace) {
  const TensorFunction f = [](const TensorList& in) { return TensorList{in[0] + in[1]}; };
  const TensorList in{randn({3}), full({}, 5.0).to(int64)};
  const Traced t = trace(f, in);
  const TensorList got = run_graph(t.graph, in);
  EXPECT_EQ(got[0].dtype(), float32);
  EXPECT_EQ(values(got[0]), values(f(in)[0]));
}

TEST_F(Gradients, A005_JacrevOfJacrevIsTheHessian) {
  const Tensor x = count({3});
  const TensorFunction h = jacrev(jacrev(sum_of_sines));
  expect_near(h({x})[0], aten<"diag_embed">(x.sin().neg()));
  expect_near(hessian(sum_of_sines)({x})[0], aten<"diag_embed">(x.sin().neg()));
  expect_traces(h, {x}, {x.neg()});
  expect_traces(hessian(sum_of_sines), {x}, {x.neg()});
}

TEST_F(Gradients, A006_ThePullbackCanBeTraced) {
  const Tensor x = count({3});
  const Pullback p = vjp(sum_of_sines, {x});
  expect_near(p.results[0], x.sin().sum());
  expect_near(p.pull({full({}, 2.0).to(float64)})[0], x.cos() * 2);
  expect_traces(p.pull, {full({}, 2.0).to(float64)}, {full({}, 7.0).to(float64)});
}

TEST_F(Gradients, A008_ADecompositionTakesTheBackwardOpAway) {
  const TensorFunction f = grad([](const TensorList& in) { return TensorList{in[0].tanh().sum()}; });
  const Tensor x = count({5});
  EXPECT_NE(print(trace(f, {x}).graph).find("aten.tanh_backward"), std::string::npos);
  const Graph g = std::move(trace(f, {x}, {.decompositions = &aot::default_decompositions()}).graph);
  EXPECT_EQ(print(g).find("tanh_backward"), std::string::npos) << print(g);
  expect_near(run_graph(g, {x.neg()})[0], f({x.neg()})[0]);
}

TEST_F(Gradients, NestToAnyOrder) {
  const Tensor x = count({3});
  const TensorFunction first = [](const TensorList& in) { return TensorList{grad(cubes)(in)[0].sum()}; };
  expect_near(grad(cubes)({x})[0], x * x * 3);
  expect_near(grad(first)({x})[0], x * 6);
  expect_near(grad([&](const TensorList& in) { return TensorList{grad(first)(in)[0].sum()}; })({x})[0],
              full({3}, 6.0).to(float64));
}

TEST_F(Gradients, InnerVariablesAreNotConfused) {  // d/dx (x * d/dy (x + y)) = 1
  const Tensor x = full({}, 3.0).to(float64);
  const TensorFunction f = [](const TensorList& in) {
    const Tensor inner = grad([&](const TensorList& y) { return TensorList{in[0] + y[0]}; })({full({}, 1.0).to(float64)})[0];
    return TensorList{in[0] * inner};
  };
  EXPECT_EQ(grad(f)({x})[0].item_double(), 1);
  EXPECT_EQ(jvp(f, {x}, {ones_like(x)}).tangents[0].item_double(), 1);
}

TEST_F(Gradients, SeveralArgumentsAndAValue) {
  const Tensor x = count({2}), y = count({2}) + 1;
  const TensorFunction f = [](const TensorList& in) { return TensorList{(in[0] * in[1] * in[1]).sum()}; };
  const TensorList g = grad_and_value(f, {1, 0})({x, y});
  expect_near(g[0], x * y * 2);
  expect_near(g[1], y * y);
  expect_near(g[2], f({x, y})[0]);
}

TEST_F(Gradients, GradModeOutsideDoesNotMatterInsideDoes) {
  const Tensor x = count({2});
  {
    const NoGrad no_grad;
    expect_near(grad(cubes)({x})[0], x * x * 3);
  }
  const TensorFunction f = [](const TensorList& in) {
    Tensor constant;
    {
      const NoGrad no_grad;
      constant = in[0] * 2;
    }
    return TensorList{(in[0] * constant).sum()};
  };
  expect_near(grad(f)({x})[0], x * 2);
}

TEST_F(Gradients, HistoriesOutsideGoOn) {
  Tensor w = count({2}).requires_grad_();
  const TensorFunction f = [&](const TensorList& in) { return TensorList{(in[0] * in[0] * w).sum()}; };
  const Tensor x = count({2}), g = grad(f)({x})[0];
  ASSERT_TRUE(g.requires_grad());
  expect_near(grad({g.sum()}, {w})[0], x * 2);
  EXPECT_FALSE(grad(cubes)({x})[0].requires_grad());
}

TEST_F(Gradients, JvpGoesForward) {
  const Tensor x = count({3}), t = count({3}).neg();
  const Pushforward p = jvp([](const TensorList& in) { return TensorList{in[0].sin(), in[0] * in[0]}; }, {x}, {t});
  expect_near(p.results[0], x.sin());
  expect_near(p.tangents[0], x.cos() * t);
  expect_near(p.tangents[1], x * t * 2);
  const Pushforward unused = jvp([](const TensorList&) { return TensorList{ones({2})}; }, {x}, {t});
  EXPECT_EQ(values(unused.tangents[0]), Numbers({0, 0}));
}

TEST_F(Gradients, JacobiansBothWays) {
  const Tensor x = count({2, 2}), m = count({3, 2});
  const TensorFunction f = [&](const TensorList& in) { return TensorList{m.mm(in[0].sin()), in[0].sum()}; };
  const TensorList reverse = jacrev(f)({x}), forward = jacfwd(f)({x});
  ASSERT_EQ(reverse[0].sizes(), (Shape{3, 2, 2, 2}));
  ASSERT_EQ(reverse[1].sizes(), (Shape{2, 2}));
  for (std::size_t k = 0; k < 2; k++) expect_near(reverse[k], forward[k]);
  for (int i = 0; i < 3; i++)
    expect_near(reverse[0].select(0, i).select(0, 1).select(1, 1), m.select(0, i) * x.cos().select(1, 1));
}

TEST_F(Gradients, VmapOfGradIsAGradientForEverySample) {
  const Tensor w = count({3}), x = count({4, 3});
  const TensorFunction loss = [](const TensorList& in) { return TensorList{(in[0] * in[1]).sum().sin()}; };  // (w, sample)
  const Tensor got = vmap(grad(loss), {.in_dims = {std::nullopt, 0}})({w, x})[0];
  TensorList rows;
  for (int i = 0; i < 4; i++) rows.push_back(grad(loss)({w, x.select(0, i)})[0]);
  expect_near(got, aten<"stack">(rows, 0));
  expect_traces(vmap(grad(loss), {.in_dims = {std::nullopt, 0}}), {w, x}, {w.neg(), x * 2});
}

TEST_F(Gradients, GradOfVmap) {
  const Tensor x = count({4, 3});
  const TensorFunction f = [](const TensorList& in) {
    return TensorList{vmap([](const TensorList& row) { return TensorList{row[0].sin().sum()}; })(in)[0].exp().sum()};
  };
  expect_near(grad(f)({x})[0], grad([](const TensorList& in) { return TensorList{in[0].sin().sum({1}).exp().sum()}; })({x})[0]);
}

TEST_F(Gradients, VmapOfGradOfVmap) {
  const Tensor w = count({3}), x = count({2, 4, 3});
  const TensorFunction loss = [](const TensorList& in) {  // (w, samples)
    const auto each =
        vmap([](const TensorList& a) { return TensorList{(a[0] * a[1]).sum().sin()}; }, {.in_dims = {std::nullopt, 0}});
    return TensorList{each(in)[0].sum()};
  };
  const Tensor got = vmap(grad(loss), {.in_dims = {std::nullopt, 0}})({w, x})[0];
  for (int i = 0; i < 2; i++) expect_near(got.select(0, i), grad(loss)({w, x.select(0, i)})[0]);
  const Tensor second = vmap(jacrev(grad(loss)), {.in_dims = {std::nullopt, 0}})({w, x})[0];
  for (int i = 0; i < 2; i++) expect_near(second.select(0, i), jacrev(grad(loss))({w, x.select(0, i)})[0]);
}

TEST_F(Gradients, GradOfFunctionalizeOfWrites) {
  const TensorFunction f = [](const TensorList& in) {
    Tensor y = in[0] * 2;
    y.select(0, 0).mul_(in[0].select(0, 1));
    return TensorList{y.sum()};
  };
  const Tensor x = count({3});
  expect_near(grad(functionalize(f))({x})[0], grad(f)({x})[0]);
  expect_near(functionalize(grad(f))({x})[0], grad(f)({x})[0]);
  expect_traces(functionalize(grad(f)), {x}, {x.neg()});
}

TEST_F(Gradients, Refusals) {
  const Tensor x = count({3});
  const auto says = [](const std::string& message, const char* words) {
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  says(error_of([&] { grad([](const TensorList& in) { return TensorList{in[0].sin()}; })({x}); }),
       "one result of no dims, found 1 results, of size [3]");
  says(error_of([&] { grad(cubes)({arange(3)}); }), "expected arguments that are floating point or complex tensors");
  says(error_of([&] { grad(cubes, {2})({x}); }), "there is no argument 2 among 1");
  says(error_of([&] { vjp(cubes, {x}).pull({x}); }), "cotangents 0 should have size []");
  says(error_of([&] { jvp(cubes, {x}, {}); }), "expected 1 tangents, found 0");
}

}  // namespace
}  // namespace ingot::testing
