// cond, map, while_loop and scan from C++: eager, traced, functionalized, differentiated.
#include <gtest/gtest.h>

#include "graph/dead_code.hpp"
#include "graph/interpret.hpp"
#include "graph/text.hpp"
#include "graph/verify.hpp"
#include "ingot/autograd.hpp"
#include "ingot/control_flow.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"
#include "transform/functionalize.hpp"

namespace ingot::testing {
namespace {

class ControlFlow : public NoLeaks {};

Tensor count(const Shape& sizes) { return (arange(sizes.product()).to(float64).view(sizes) + 1) * 0.3; }

TensorList run_graph(const Graph& g, const TensorList& in) {
  TensorList out;
  for (const Value& v : Interpreter(g).run(Values(in.begin(), in.end()))) out.push_back(v.tensor());
  return out;
}
void expect_equal(const TensorList& want, const TensorList& got) {
  ASSERT_EQ(want.size(), got.size());
  for (std::size_t k = 0; k < want.size(); k++) {
    EXPECT_EQ(want[k].sizes(), got[k].sizes());
    const auto a = want[k].to_vector<double>(), b = got[k].to_vector<double>();
    for (std::size_t i = 0; i < a.size(); i++) EXPECT_NEAR(a[i], b[i], 1e-12 * (1 + std::abs(a[i]))) << "result " << k << " element " << i;
  }
}

// The traced program, plain and functionalized, on inputs it was not traced with.
void expect_traced(const TensorFunction& f, const TensorList& examples, const std::vector<TensorList>& inputs) {
  for (const TensorFunction& g : {f, functionalize(f)}) {
    const Traced t = trace(g, examples);
    verify(t.graph);
    for (const TensorList& in : inputs) expect_equal(f(in), run_graph(t.graph, in));
  }
}
// Gradients of the sum of all results, eager against traced: the backward is part of the graph.
void expect_gradients(const TensorFunction& f, const TensorList& examples, const std::vector<TensorList>& inputs) {
  const TensorFunction gradients = [&](const TensorList& in) {
    TensorList x;
    for (const Tensor& t : in) x.push_back(t.detach().requires_grad_());
    Tensor total;
    for (const Tensor& y : f(x)) total = total.defined() ? total + y.sin().sum() : y.sin().sum();
    return grad({total}, x, {}, {.allow_unused = false});
  };
  expect_traced(gradients, examples, inputs);
}

TensorList choose(const TensorList& in) {
  return cond(
      in[0].sum() > 0, [](const TensorList& o) { return TensorList{o[0].sin() * o[1]}; },
      [](const TensorList& o) { return TensorList{o[0].cos() + o[1]}; }, {in[0], in[1]});
}

TEST_F(ControlFlow, A_TracedCondKeepsBothBranches) {
  const Tensor x = count({3}), y = count({3});
  const Traced t = trace(choose, {x, y});
  EXPECT_EQ(print(t.graph),
            "def forward(self, arg0_1, arg1_1):\n"
            "    sum_1 = torch.ops.aten.sum.default(arg0_1)\n"
            "    gt = torch.ops.aten.gt.Scalar(sum_1, 0);  sum_1 = None\n"
            "    true_graph_0 = self.true_graph_0\n"
            "    false_graph_0 = self.false_graph_0\n"
            "    conditional = torch.ops.higher_order.cond(gt, true_graph_0, false_graph_0, [arg0_1, arg1_1]);  gt = true_graph_0 = false_graph_0 = "
            "arg0_1 = arg1_1 = None\n"
            "    getitem = conditional[0];  conditional = None\n"
            "    return (getitem,)\n");
  expect_traced(choose, {x, y}, {{x, y}, {x.neg(), y}});
}

TEST_F(ControlFlow, CondIsDifferentiatedByABranchEach) {
  const Tensor x = count({3}), y = count({3});
  expect_gradients(choose, {x, y}, {{x, y}, {x.neg(), y}});
}

TEST_F(ControlFlow, WhatAFunctionBringsAlongIsPassedAlong) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor scale = in[1] * 2;
    return cond(
        in[0].sum() > 0, [&](const TensorList& o) { return TensorList{o[0] * scale}; }, [&](const TensorList& o) { return TensorList{o[0] - in[1]}; },
        {in[0]});
  };
  const Tensor x = count({3}), y = count({3});
  expect_traced(f, {x, y}, {{x, y}, {x.neg(), y}});
  EXPECT_NE(print(trace(f, {x, y}).graph).find("[arg0_1, mul, arg1_1]"), std::string::npos) << print(trace(f, {x, y}).graph);
}

TEST_F(ControlFlow, CondNests) {
  const TensorFunction f = [](const TensorList& in) {
    return cond(
        in[0].sum() > 0,
        [](const TensorList& o) {
          return cond(o[0].max() > 2, [](const TensorList& p) { return TensorList{p[0].exp()}; }, [](const TensorList& p) { return TensorList{p[0] * 5}; }, o);
        },
        [](const TensorList& o) { return TensorList{o[0].neg()}; }, {in[0]});
  };
  const Tensor x = count({3});
  expect_traced(f, {x}, {{x}, {x * 9}, {x.neg()}});
  expect_gradients(f, {x}, {{x}, {x * 9}, {x.neg()}});
}

TEST_F(ControlFlow, MapGoesAlongRows) {
  const TensorFunction f = [](const TensorList& in) {
    return map([](const TensorList& o) { return TensorList{o[0].sin() * o[1], o[0].sum()}; }, {in[0]}, {in[1]});
  };
  const Tensor x = count({4, 3}), y = count({3});
  expect_traced(f, {x, y}, {{x, y}, {x * 2, y.neg()}});
  expect_gradients(f, {x, y}, {{x, y}, {x * 2, y.neg()}});
}

TEST_F(ControlFlow, ScanCarries) {
  const TensorFunction f = [](const TensorList& in) {
    const Scanned s = scan(
        [](const TensorList& o) {
          const Tensor next = (o[0] * o[2] + o[1]).tanh();
          return TensorList{next, next * o[1]};
        },
        {in[0]}, {in[1]}, {in[2]});
    return TensorList{s.carried[0], s.stacked[0]};
  };
  const TensorList in{count({3}), count({4, 3}), count({3}) * 0.5};
  expect_traced(f, in, {in, {in[0].neg(), in[1] * 0.3, in[2]}});
  expect_gradients(f, in, {in, {in[0].neg(), in[1] * 0.3, in[2]}});
  const TensorFunction backwards = [](const TensorList& in) {
    const Scanned s = scan([](const TensorList& o) { return TensorList{o[0] + o[1], o[0].clone()}; }, {in[0]}, {in[1]}, {}, true);
    return TensorList{s.carried[0], s.stacked[0]};
  };
  EXPECT_EQ(backwards({zeros({}), arange(4).to(float32)})[1].to_vector<double>(), (std::vector<double>{6, 5, 3, 0}));
  expect_traced(backwards, {zeros({}), ones({4})}, {{ones({}), arange(4).to(float32)}});
}

TEST_F(ControlFlow, WhileRunsAsOftenAsItMust) {
  const TensorFunction f = [](const TensorList& in) {
    return while_loop([](const TensorList& o) { return TensorList{o[0].sum() < 100}; }, [](const TensorList& o) { return TensorList{o[0] * 2 + o[1]}; }, {in[0]},
                      {in[1]});
  };
  const Tensor x = count({3}), y = count({3});
  expect_traced(f, {x, y}, {{x, y}, {x * 100, y}, {x * 0.01, y}});
  expect_equal(f({x, y}), f({x, y}));
  const Tensor tracked = count({3}).requires_grad_();
  EXPECT_NE(error_of([&] { trace([&](const TensorList& in) { return grad({f({in[0].detach().requires_grad_(), in[1]})[0].sum()}, {tracked}); }, {x, y}); }), "no error");
}

TEST_F(ControlFlow, WritesInsideAFunctionAreFunctionalized) {
  const TensorFunction f = [](const TensorList& in) {
    return cond(
        in[0].sum() > 0,
        [](const TensorList& o) {
          Tensor y = o[0].sin();
          y.add_(Scalar(5));
          return TensorList{y};
        },
        [](const TensorList& o) { return TensorList{o[0].cos()}; }, {in[0]});
  };
  expect_traced(f, {count({3})}, {{count({3})}, {count({3}).neg()}});
  const Traced t = trace(functionalize(f), {count({3})});
  const auto& branch = std::get<std::shared_ptr<const Graph>>(*t.graph.find_attribute("true_graph_0"));
  EXPECT_EQ(print(*branch).find("add_"), std::string::npos) << print(*branch);
}

TEST_F(ControlFlow, AFunctionThatWritesOrReturnsItsOperandIsRefusedWhenTraced) {
  const auto traced = [](const OperandFunction& branch) {
    return error_of([&] {
      trace(functionalize([&](const TensorList& in) {
              return cond(in[0].sum() > 0, branch, [](const TensorList& o) { return TensorList{o[0].cos()}; }, {in[0]});
            }),
            {count({3})});
    });
  };
  EXPECT_NE(traced([](const TensorList& o) { Tensor t = o[0]; t.add_(Scalar(1)); return TensorList{t.sin()}; }).find("might be modifying the input"), std::string::npos);
  EXPECT_NE(traced([](const TensorList& o) { return TensorList{o[0].view({3})}; }).find("might be aliasing the input"), std::string::npos);
  EXPECT_NE(traced([](const TensorList& o) { return TensorList{o[0].sum()}; }).find("Expected each tensor to have same metadata"), std::string::npos);
}

TEST_F(ControlFlow, AutocastReachesTheBranches) {
  const TensorFunction f = [](const TensorList& in) {
    const AutocastGuard autocast(bfloat16);
    return cond(in[0].sum() > 0, [](const TensorList& o) { return TensorList{o[0].mm(o[0])}; }, [](const TensorList& o) { return TensorList{o[0].mm(o[0]) * 2}; },
                {in[0]});
  };
  const Tensor x = ones({2, 2});
  EXPECT_EQ(f({x})[0].dtype(), bfloat16);
  const Traced t = trace(f, {x});
  EXPECT_EQ(run_graph(t.graph, {x})[0].dtype(), bfloat16);
}

}  // namespace
}  // namespace ingot::testing
