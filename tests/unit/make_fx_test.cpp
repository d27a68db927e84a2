// make_fx: graphs as the public header shows them.
#include <gtest/gtest.h>

#include "ingot/ingot.hpp"
#include "ingot/transforms.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"

namespace ingot {
namespace {

class MakeFx : public NoLeaks {};

TensorList program(const TensorList& in) { return {(in[0].sin() * 2).reshape({-1}), in[0].sum()}; }

TEST_F(MakeFx, AGraphPrintsAndRuns) {
  const GraphFunction g = make_fx(program, {ones({2, 3})});
  EXPECT_EQ(g.text(),
            "def forward(self, arg0_1):\n"
            "    sin = torch.ops.aten.sin.default(arg0_1)\n"
            "    mul = torch.ops.aten.mul.Tensor(sin, 2);  sin = None\n"
            "    view = torch.ops.aten.view.default(mul, [6]);  mul = None\n"
            "    sum_1 = torch.ops.aten.sum.default(arg0_1);  arg0_1 = None\n"
            "    return (view, sum_1)\n");
  EXPECT_EQ(g.guards(), "");
  const Tensor x = randn({2, 3});
  const GraphFunction same = g;
  for (std::size_t k = 0; k < 2; k++) EXPECT_EQ(same({x})[k].to_vector<double>(), program({x})[k].to_vector<double>());
}

TEST_F(MakeFx, AGraphIsAFunctionThatTransformsTake) {
  const GraphFunction g = make_fx([](const TensorList& in) { return TensorList{(in[0] * in[0]).sum()}; }, {ones({3})});
  EXPECT_EQ(grad(g)({tensor({1., 2, 3})})[0].to_vector<double>(), (std::vector<double>{2, 4, 6}));
  EXPECT_EQ(vmap(grad(g))({tensor({1., 2, 3, 4, 5, 6}, {2, 3})})[0].to_vector<double>(),
            (std::vector<double>{2, 4, 6, 8, 10, 12}));
}

TEST_F(MakeFx, ArgumentsMustFitTheExamples) {
  const GraphFunction g = make_fx(program, {ones({2, 3})});
  EXPECT_EQ(error_of([&] { g({}); }), "the graph takes 1 arguments, found 0");
  EXPECT_NE(error_of([&] {
              g({ones({3, 3})});
            }).find("argument 0 of the graph should be float32 of size [2, 3] as its example was, found float32 of size [3, 3]"),
            std::string::npos);
  EXPECT_NE(error_of([&] { g({ones({2, 3}, {.dtype = float64})}); }).find("found float64 of size [2, 3]"), std::string::npos);
  EXPECT_NE(error_of([&] { g({Tensor()}); }).find("argument 0 of the graph is undefined"), std::string::npos);
}

TEST_F(MakeFx, OpenSizesRunAtOthersAndKeepTheirGuards) {
  const TensorFunction f = [](const TensorList& in) { return TensorList{in[0].size(0) < 10 ? in[0] + in[1] : in[0] - in[1]}; };
  const GraphFunction g = make_fx(f, {ones({4, 3}), ones({4, 3})}, {.with = TraceWith::symbols});
  EXPECT_NE(g.guards(), "");
  EXPECT_EQ(g({ones({7, 2}), ones({7, 2})})[0].sizes(), (Shape{7, 2}));
  EXPECT_NE(error_of([&] { g({ones({12, 2}), ones({12, 2})}); }).find("the graph is not right for these arguments"),
            std::string::npos);
  EXPECT_NE(error_of([&] { g({ones({7, 2}), ones({6, 2})}); }).find("the graph is not right for these arguments"),
            std::string::npos);
}

TEST_F(MakeFx, TracedOnDataAndKeptWhole) {
  EXPECT_EQ(make_fx(program, {ones({2, 3})}, {.with = TraceWith::data}).text(), make_fx(program, {ones({2, 3})}).text());
  const TensorFunction linear = [](const TensorList& in) { return TensorList{in[0].matmul(in[1])}; };
  EXPECT_NE(make_fx(linear, {ones({2, 3}), ones({3, 2})}, {.pre_dispatch = true}).text().find("aten.matmul.default"),
            std::string::npos);
}

}  // namespace
}  // namespace ingot
