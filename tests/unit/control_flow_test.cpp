// cond, map, while_loop and scan from C++: eager, traced, functionalized, differentiated.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "graph/dead_code.hpp"
#include "graph/interpret.hpp"
#include "graph/text.hpp"
#include "graph/trace.hpp"
#include "graph/verify.hpp"
#include "ingot/autograd.hpp"
#include "ingot/control_flow.hpp"
#include "ingot/ingot.hpp"
#include "ingot/transforms.hpp"
#include "op/call.hpp"
#include "op/function.hpp"
#include "support/error_text.hpp"
#include "support/no_leaks.hpp"
#include "support/traced_checks.hpp"

namespace ingot::testing {
namespace {

class ControlFlow : public NoLeaks {};

Tensor count(const Shape& sizes) { return (arange(sizes.product()).to(float64).view(sizes) + 1) * 0.3; }

TensorList choose(const TensorList& in) {
  return cond(
      in[0].sum() > 0, [](const TensorList& o) { return TensorList{o[0].sin() * o[1]}; },
      [](const TensorList& o) { return TensorList{o[0].cos() + o[1]}; }, {in[0], in[1]});
}

TEST_F(ControlFlow, A_TracedCondKeepsBothBranches) {
  const Tensor x = count({3}), y = count({3});
  const Traced t = trace(choose, {x, y});
  EXPECT_EQ(
      print(t.graph),
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
        in[0].sum() > 0, [&](const TensorList& o) { return TensorList{o[0] * scale}; },
        [&](const TensorList& o) { return TensorList{o[0] - in[1]}; }, {in[0]});
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
          return cond(
              o[0].max() > 2, [](const TensorList& p) { return TensorList{p[0].exp()}; },
              [](const TensorList& p) { return TensorList{p[0] * 5}; }, o);
        },
        [](const TensorList& o) { return TensorList{o[0].neg()}; }, {in[0]});
  };
  const Tensor x = count({3});
  expect_traced(f, {x}, {{x}, {x * 9}, {x.neg()}});
  expect_gradients(f, {x}, {{x}, {x * 9}, {x.neg()}});
}

// PyTorch's map has no rows to ask what its function returns; its scans run with none.
TEST_F(ControlFlow, MapNeedsARow) {
  const TensorFunction f = [](const TensorList& in) {
    return map([](const TensorList& o) { return TensorList{o[0].sin()}; }, {in[0]});
  };
  const std::string words = "Leading dimensions of mapped xs cannot be 0.";
  EXPECT_NE(error_of([&] { f({zeros({0, 3})}); }).find(words), std::string::npos);
  EXPECT_NE(error_of([&] { trace(f, {zeros({0, 3})}); }).find(words), std::string::npos);
  const Scanned s = scan([](const TensorList& o) { return TensorList{o[0] + o[1], o[1] * 2}; }, {zeros({3})}, {zeros({0, 3})});
  EXPECT_EQ(to_text(s.stacked[0].sizes()), "[0, 3]");
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
    return while_loop([](const TensorList& o) { return TensorList{o[0].sum() < 100}; },
                      [](const TensorList& o) { return TensorList{o[0] * 2 + o[1]}; }, {in[0]}, {in[1]});
  };
  const Tensor x = count({3}), y = count({3});
  expect_traced(f, {x, y}, {{x, y}, {x * 100, y}, {x * 0.01, y}});
  expect_equal(f({x, y}), f({x, y}));
}

// A loop of data's own length: as often as it runs for these, also never.
TensorList halve(const TensorList& in) {
  return while_loop(
      [](const TensorList& o) { return TensorList{(o[1] * o[1]).sum() > 0.5}; },
      [](const TensorList& o) { return TensorList{o[0] + 1, o[1].sin() * o[3] * 0.7, o[2] + o[1] * o[0].to(float64)}; },
      {zeros({}, {.dtype = int64}), in[0], in[0].cos()}, {in[1]});
}
TensorList halve_unrolled(const TensorList& in) {
  Tensor n = zeros({}, {.dtype = int64}), x = in[0], sum = in[0].cos();
  while ((x * x).sum().item_double() > 0.5) {
    const Tensor next = x.sin() * in[1] * 0.7;
    sum = sum + x * n.to(float64);
    n = n + 1;
    x = next;
  }
  return {n, x, sum};
}
TensorFunction real_results(TensorList (*f)(const TensorList&)) {
  return [f](const TensorList& in) {
    const TensorList r = f(in);
    return TensorList{r[1], r[2], in[1].sin()};  // also where the loop never runs
  };
}

TEST_F(ControlFlow, GradientsOfAWhileThatDataEnds) {
  const Tensor x = count({3}), y = count({3}) + 0.4;
  for (const double scale : {1.0, 5.0, 0.01}) {
    const TensorList in{x * scale, y};
    expect_equal(halve_unrolled(in), halve(in));
    const auto gradients = [&](TensorList (*f)(const TensorList&)) {
      TensorList leaves;
      for (const Tensor& t : in) leaves.push_back(t.detach().requires_grad_());
      const TensorList r = f(leaves);
      return grad({r[1].sin().sum() + (r[2] * r[2]).sum() + leaves[1].sin().sum()}, leaves);
    };
    expect_equal(gradients(halve_unrolled), gradients(halve));
  }
  // The loop runs 0, 2 and 5 times in the same graph.
  expect_gradients(real_results(halve), {x, y}, {{x, y}, {x * 5, y}, {x * 0.01, y}, {x * 1.5, y * 1.1}});
}

TEST_F(ControlFlow, AWhilesTracedGradientIsDifferences) {
  const Tensor x = count({3}), y = count({3}) + 0.4;
  const auto loss = [](const TensorList& in) {
    const TensorList r = halve(in);
    return r[1].sin().sum() + (r[2] * r[2]).sum();
  };
  const TensorFunction gradients = [&](const TensorList& in) {
    TensorList leaves;
    for (const Tensor& t : in) leaves.push_back(t.detach().requires_grad_());
    return grad({loss(leaves)}, leaves);
  };
  const Traced t = trace(gradients, {x, y});
  const TensorList found = run_graph(t.graph, {x, y});
  for (std::size_t i = 0; i < 2; i++)
    for (int64_t e = 0; e < 3; e++) {
      const auto shifted = [&](double by) {
        TensorList in{x.clone(), y.clone()};
        in[i].data<double>()[e] += by;
        return loss(in).item_double();
      };
      EXPECT_NEAR(found[i].to_vector<double>()[static_cast<std::size_t>(e)], (shifted(1e-6) - shifted(-1e-6)) / 2e-6, 1e-6);
    }
}

TEST_F(ControlFlow, AWhileInsideAndAroundOthersHasGradients) {
  // What a body captures, and a second derivative.
  const Tensor x = count({3}), y = count({3}) + 0.4;
  const TensorFunction captures = [](const TensorList& in) {
    const Tensor factor = in[1].cos();
    return while_loop([](const TensorList& o) { return TensorList{(o[0] * o[0]).sum() > 0.5}; },
                      [factor](const TensorList& o) { return TensorList{o[0] * factor * 0.6}; }, {in[0]});
  };
  expect_gradients(captures, {x, y}, {{x, y}, {x * 3, y}});
  const TensorFunction twice = [&](const TensorList& in) {
    TensorList leaves;
    for (const Tensor& t : in) leaves.push_back(t.detach().requires_grad_());
    const TensorList r = halve(leaves);
    const TensorList g = grad({r[1].sin().sum() + (r[2] * r[2]).sum()}, leaves, {}, {.create_graph = true});
    return grad({(g[0] * g[0]).sum() + g[1].sin().sum()}, leaves);
  };
  expect_traced(twice, {x, y}, {{x, y}, {x * 5, y}});
}

// Members run as often as each must: also never, and all of them never.
TEST_F(ControlFlow, AWhileByMember) {
  const Tensor x = stack({count({3}), count({3}) * 5, count({3}) * 0.01}), y = count({3}) + 0.4;
  const VmapOptions options{.in_dims = {0, std::nullopt}, .out_dims = {0}};
  const auto members = [&](const TensorFunction& f, const Tensor& all) {
    std::vector<TensorList> columns;
    for (int64_t i = 0; i < all.size(0).value(); i++) {
      const TensorList r = f({all.select(0, i), y});
      columns.resize(r.size());
      for (std::size_t k = 0; k < r.size(); k++) columns[k].push_back(r[k]);
    }
    TensorList out;
    for (const TensorList& c : columns) out.push_back(stack(c));
    return out;
  };
  for (const Tensor& all : {x, x * 0.001}) {
    expect_equal(members(halve_unrolled, all), vmap(halve, options)({all, y}));
    expect_equal(members(halve_unrolled, all), run_graph(trace(vmap(halve, options), {x, y}).graph, {all, y}));
  }
  const auto total = [](TensorList (*f)(const TensorList&)) {
    return ingot::grad(
        [f](const TensorList& in) {
          const TensorList r = f(in);
          return TensorList{r[1].sin().sum() + (r[2] * r[2]).sum()};
        },
        {0, 1});
  };
  expect_equal(members(total(halve), x), vmap(total(halve), options)({x, y}));
  expect_equal(members(total(halve), x), run_graph(trace(vmap(total(halve), options), {x, y}).graph, {x, y}));
}

// A member that is done is kept out of the body, which may not be defined for what it ended with.
TEST_F(ControlFlow, AMemberThatIsDoneBringsNoInfinities) {
  const TensorFunction f = [](const TensorList& in) {
    return while_loop([](const TensorList& o) { return TensorList{o[0] > 0}; },
                      [](const TensorList& o) { return TensorList{o[0] - 1, o[1] + (o[0] * o[2]).sqrt()}; },
                      {in[0], zeros({}, {.dtype = float64})}, {in[1]});
  };
  const Tensor x = tensor({1, 3}, {2}, float64), y = tensor({2, 2}, {2}, float64);
  const TensorFunction loss = ingot::grad([&](const TensorList& in) { return TensorList{f(in)[1]}; }, {1});
  const double root = 1 / (2 * std::sqrt(2.0));
  expect_equal({tensor({root, root * (1 + std::sqrt(2.0) + std::sqrt(3.0))}, {2}, float64)}, vmap(loss)({x, y}));
}

TEST_F(ControlFlow, AWhileByMemberCarriesTensors) {
  const auto run = [](const TensorFunction& condition) {
    return error_of([&] {
      vmap([&](const TensorList& in) {
        return while_loop(condition, [](const TensorList& o) { return TensorList{o[0] * 0.5}; }, {in[0]});
      })({count({2, 3})});
    });
  };
  EXPECT_NE(
      run([](const TensorList& o) { return TensorList{o[0] > 1}; }).find("a condition should have one element, found size [3]"),
      std::string::npos);
}

// As PyTorch says when it is called without a compiler, too.
TEST_F(ControlFlow, WhatIsCarriedKeepsItsSizeAndType) {
  const auto run = [](const Tensor& carried, const Tensor& more) {
    return error_of([&] {
      while_loop([](const TensorList& o) { return TensorList{o[0].sum() < 100}; },
                 [](const TensorList& o) { return TensorList{o[0] + o[1]}; }, {carried}, {more});
    });
  };
  EXPECT_EQ(
      run(ones({}), ones({2})),
      "Expected each tensor to have same metadata but got: while_loop result 0 of what is carried is float32[], of the body float32[2]");
  EXPECT_EQ(
      run(ones({2}), ones({2}).to(float64)),
      "Expected each tensor to have same metadata but got: while_loop result 0 of what is carried is float32[2], of the body float64[2]");
  EXPECT_EQ(run(ones({2}), ones({2})), "no error");
  const auto scanned = [](const Tensor& init, const Tensor& rows) {
    return error_of([&] { scan([](const TensorList& o) { return TensorList{o[0] * 0.5 + o[1], o[0]}; }, {init}, {rows}); });
  };
  for (const int64_t rows : {0, 3})
    EXPECT_EQ(
        scanned(zeros({2}).to(int64), ones({rows, 2})),
        "Expected each tensor to have same metadata but got: scan result 0 of what is carried is int64[2], of the function float32[2]");
  EXPECT_EQ(scanned(zeros({2}), ones({3, 2})), "no error");
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
  const auto traced = [](const TensorFunction& branch) {
    return error_of([&] {
      trace(functionalize([&](const TensorList& in) {
              return cond(in[0].sum() > 0, branch, [](const TensorList& o) { return TensorList{o[0].cos()}; }, {in[0]});
            }),
            {count({3})});
    });
  };
  EXPECT_NE(traced([](const TensorList& o) {
              Tensor t = o[0];
              t.add_(Scalar(1));
              return TensorList{t.sin()};
            }).find("might be modifying the input"),
            std::string::npos);
  EXPECT_NE(traced([](const TensorList& o) { return TensorList{o[0].view({3})}; }).find("might be aliasing the input"),
            std::string::npos);
  EXPECT_NE(traced([](const TensorList& o) { return TensorList{o[0].sum()}; }).find("Expected each tensor to have same metadata"),
            std::string::npos);
}

// ---- what functions bring along

TEST_F(ControlFlow, GradientsReachWhatACondBringsAlong) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor scale = in[1].sin();
    return cond(
        in[0].sum() > 0, [=](const TensorList& o) { return TensorList{o[0] * scale * in[1] + in[2].sum()}; },
        [=](const TensorList& o) { return TensorList{(o[0] - in[2].select(0, 1)) * in[1]}; }, {in[0]});
  };
  const TensorList in{count({3}), count({3}), count({2, 3})};
  expect_gradients(f, in, {in, {in[0].neg(), in[1], in[2]}});
  // Nothing but what is brought along requires grad.
  const TensorFunction without_operands = [](const TensorList& in) {
    return cond(
        in[0].detach().sum() > 0, [=](const TensorList&) { return TensorList{in[0] * in[1]}; },
        [=](const TensorList&) { return TensorList{in[0].exp() + in[1]}; }, {});
  };
  expect_gradients(without_operands, {in[0], in[1]}, {{in[0], in[1]}, {in[0].neg(), in[1]}});
}

TEST_F(ControlFlow, WhatOneBranchAloneBringsAlongHasAGradientOfZerosInTheOther) {
  const TensorFunction f = [](const TensorList& in) {
    return TensorList{cond(
                          in[0].sum() > 0, [=](const TensorList& o) { return TensorList{o[0] * in[1]}; },
                          [=](const TensorList& o) { return TensorList{o[0] + in[2]}; }, {in[0]})[0]
                          .sum()};
  };
  const TensorList in{count({3}), count({3}), count({3})};
  expect_traced(ingot::grad(f, {0, 1, 2}), in, {in, {in[0].neg(), in[1], in[2]}});
}

TEST_F(ControlFlow, GradientsReachWhatMapAndScanBringAlong) {
  const TensorFunction mapped = [](const TensorList& in) {
    return map([=](const TensorList& o) { return TensorList{o[0].sin() * in[1] + o[1] * in[2].sum()}; }, {in[0]}, {in[1]});
  };
  const TensorList in{count({4, 3}), count({3}), count({2})};
  expect_gradients(mapped, in, {in, {in[0] * 2, in[1].neg(), in[2]}});
  const TensorFunction scanned = [](const TensorList& in) {
    const Tensor weight = in[2] * 0.5;
    const Scanned s = scan(
        [=](const TensorList& o) {
          const Tensor next = (o[0] * weight + o[1]).tanh();
          return TensorList{next, next * in[1].select(0, 0)};
        },
        {in[0]}, {in[1]});
    return TensorList{s.carried[0], s.stacked[0]};
  };
  const TensorList steps{count({3}), count({4, 3}), count({3})};
  expect_gradients(scanned, steps, {steps, {steps[0].neg(), steps[1] * 0.3, steps[2]}});
}

TEST_F(ControlFlow, GradientsReachWhatNestedFunctionsBringAlong) {
  const TensorFunction f = [](const TensorList& in) {
    const Tensor outer = in[1] * in[1];
    return cond(
        in[0].sum() > 0,
        [=](const TensorList& o) {
          const Tensor inner = o[0] * in[1];
          return map([=](const TensorList& p) { return TensorList{p[0] * inner.sum() + outer}; }, {o[0]});
        },
        [=](const TensorList& o) { return TensorList{o[0].unsqueeze(1) * outer}; }, {in[0]});
  };
  const TensorList in{count({3}), count({3})};
  expect_gradients(f, in, {in, {in[0].neg(), in[1]}});
}

TEST_F(ControlFlow, SecondDerivativesOfWhatACondBringsAlong) {
  const TensorFunction f = [](const TensorList& in) {
    return cond(
        in[0].sum() > 0, [=](const TensorList& o) { return TensorList{(o[0] * in[1] * in[1]).sum()}; },
        [=](const TensorList& o) { return TensorList{(o[0] - in[1].exp()).sum()}; }, {in[0]});
  };
  const TensorFunction second = [&](const TensorList& in) {
    const TensorFunction first = [&](const TensorList& x) { return TensorList{ingot::grad(f, {1})(x)[0].sum()}; };
    return ingot::grad(first, {0, 1})(in);
  };
  const TensorList in{count({3}), count({3})};
  expect_traced(second, in, {in, {in[0].neg(), in[1]}});
  const TensorFunction of_operand = [](const TensorList& in) {
    return cond(
        in[0].sum() > 0, [](const TensorList& o) { return TensorList{(o[0] * o[0] * o[0]).sum()}; },
        [](const TensorList& o) { return TensorList{o[0].sin().sum()}; }, {in[0]});
  };
  const TensorFunction curvature = [&](const TensorList& in) {
    return ingot::grad([&](const TensorList& x) { return TensorList{ingot::grad(of_operand)(x)[0].sum()}; })(in);
  };
  expect_traced(curvature, {in[0]}, {{in[0]}, {in[0].neg()}});
}

TEST_F(ControlFlow, WhatIsBroughtAlongAndWrittenLaterIsFound) {
  const TensorFunction f = [](const TensorList& in) {
    Tensor x = in[0].detach().requires_grad_(), w = x * 2;
    const Tensor y = cond(
        x.sum() > 0, [=](const TensorList& o) { return TensorList{o[0] * w}; },
        [=](const TensorList& o) { return TensorList{o[0] + w}; }, {x})[0];
    w.add_(Scalar(1));
    return grad({y.sum()}, {x});
  };
  EXPECT_NE(error_of([&] { trace(f, {count({3})}); }).find("modified by an inplace operation"), std::string::npos);
}

TEST_F(ControlFlow, AListThatMixesTensorsAndNumbersHasNoGradients) {
  const auto call_cond = [](const Tensor& x) {
    const Value twice = make_function([](Args a) { return Values{a[0].tensor() * 2}; });
    return call(op_ref<"higher_order::cond">(), {x.sum() > 0, twice, twice, Values{x, 3}});
  };
  EXPECT_EQ(error_of([&] {
              trace([&](const TensorList& in) { return TensorList{list_elements(call_cond(in[0]))[0].tensor()}; }, {count({3})});
            }),
            "no error");
  const std::string error = error_of([&] {
    trace(
        [&](const TensorList& in) {
          call_cond(in[0].detach().requires_grad_());
          return TensorList{};
        },
        {count({3})});
  });
  EXPECT_NE(error.find("cond: argument 'operands' mixes tensors that require grad with other values"), std::string::npos)
      << error;
}

TEST_F(ControlFlow, AStaleAliasThatAFunctionBringsAlongIsMadeAgainForBoth) {
  const TensorFunction f = [](const TensorList& in) {
    Tensor x = in[0] + 1, view = x.view({3});
    x.add_(Scalar(1));
    const Tensor y = cond(
        in[0].sum() > 0, [=](const TensorList& o) { return TensorList{o[0] * view}; },
        [=](const TensorList& o) { return TensorList{o[0] - view}; }, {in[0]})[0];
    return TensorList{y + view};
  };
  expect_traced(f, {count({3})}, {{count({3})}, {count({3}).neg()}});
}

TEST_F(ControlFlow, WhatAFunctionBringsAlongTakesNoInPlaceViews) {
  const auto f = functionalize([](const TensorList& in) {
    const Tensor x = in[0] + 1;
    const auto turn = [=](const TensorList& o) {
      aten_value<"t_">(x);
      return TensorList{o[0] + x};
    };
    return cond(in[0].sum() > 0, turn, turn, {in[0]});
  });
  EXPECT_NE(error_of([&] { trace(f, {count({2, 2})}); }).find("might be modifying a tensor that it brings along"),
            std::string::npos);
}

// ---- vmap

TEST_F(ControlFlow, VmapOfACondWhosePredicateDiffersRunsBothAndSelects) {
  const TensorFunction f = [](const TensorList& in) {
    return cond(
        in[0].sum() > 0, [=](const TensorList& o) { return TensorList{o[0].sin() * o[1], in[0].sum()}; },
        [=](const TensorList& o) { return TensorList{o[0] - o[1] * in[0].cos(), o[1].sum()}; }, {in[0], in[1]});
  };
  const Tensor x = count({4, 3}) - 2, y = count({3});
  const auto by_member = [](const TensorFunction& g) {
    return [g](const TensorList& in) {
      std::vector<TensorList> columns;
      for (int64_t i = 0; i < in[0].size(0).value(); i++) {
        const TensorList r = g({in[0].select(0, i), in[1]});
        columns.resize(r.size());
        for (std::size_t k = 0; k < r.size(); k++) columns[k].push_back(r[k]);
      }
      TensorList stacks;
      for (const TensorList& c : columns) stacks.push_back(stack(c, 0));
      return stacks;
    };
  };
  const VmapOptions options{.in_dims = {0, std::nullopt}};
  EXPECT_TRUE(x.select(0, 0).sum().item_double() < 0 && x.select(0, 3).sum().item_double() > 0);
  expect_equal(by_member(f)({x, y}), vmap(f, options)({x, y}));
  const TensorFunction total = [&](const TensorList& in) {
    const TensorList r = f(in);
    return TensorList{r[0].sum() + r[1]};
  };
  expect_equal(by_member(ingot::grad(total, {0, 1}))({x, y}), vmap(ingot::grad(total, {0, 1}), options)({x, y}));
  expect_equal(by_member(f)({x, y}), run_graph(trace(vmap(f, options), {x, y}).graph, {x, y}));
  const TensorFunction gradients = vmap(ingot::grad(total, {0, 1}), options);
  expect_equal(gradients({x, y}), run_graph(trace(gradients, {x, y}).graph, {x, y}));
  // Two levels, of which the predicate has the outer one.
  const TensorFunction inner = [&](const TensorList& in) {
    return vmap([&](const TensorList& m) {
      return cond(
          in[0].sum() > 0, [=](const TensorList& o) { return TensorList{o[0] * m[0]}; },
          [=](const TensorList& o) { return TensorList{o[0] + m[0]}; }, {in[0]});
    })({in[1]});
  };
  expect_equal(by_member(inner)({x, y}), vmap(inner, options)({x, y}));
}

TEST_F(ControlFlow, VmapOfACondWithOnePredicateStaysACond) {
  const TensorFunction f = [](const TensorList& in) {
    const auto branches = [&](const TensorList& m) {
      return cond(
          in[1].sum() > 0, [=](const TensorList& o) { return TensorList{o[0] * m[0].sum()}; },
          [](const TensorList& o) { return TensorList{o[0].cos()}; }, {m[0]});
    };
    return vmap(branches)({in[0]});
  };
  const Tensor x = count({4, 3}), y = count({2});
  expect_traced(f, {x, y}, {{x, y}, {x, y.neg()}});
  const std::string listing = print(trace(f, {x, y}).graph);
  EXPECT_NE(listing.find("torch.ops.higher_order.cond"), std::string::npos) << listing;
}

TEST_F(ControlFlow, VmapOfMapAndScanTakesThemApart) {
  const TensorFunction mapped = [](const TensorList& in) {
    return map([](const TensorList& o) { return TensorList{o[0] * o[1]}; }, {in[1]}, {in[0]});
  };
  const TensorFunction captured = [](const TensorList& in) {
    return map([=](const TensorList& o) { return TensorList{o[0] * in[0]}; }, {in[1]});
  };
  const VmapOptions options{.in_dims = {0, std::nullopt}};
  const Tensor x = count({4, 3}), y = count({2, 3});
  const TensorList want{stack({y.select(0, 0) * x, y.select(0, 1) * x}, 1)};
  expect_equal(want, vmap(mapped, options)({x, y}));
  expect_equal(want, vmap(captured, options)({x, y}));
  expect_equal(want, run_graph(trace(vmap(mapped, options), {x, y}).graph, {x, y}));
  const std::string error = error_of([&] { trace(vmap(captured, options), {x, y}); });
  EXPECT_NE(error.find("brings along a tensor that is vmapped over"), std::string::npos) << error;
}

TEST_F(ControlFlow, VmapOfACondRefusesNumbersThatWouldDiffer) {
  const Value one = make_function([](Args) { return Values{1}; }), two = make_function([](Args) { return Values{2}; });
  const std::string error = error_of([&] {
    vmap([&](const TensorList& in) {
      call(op_ref<"higher_order::cond">(), {in[0] > 0, one, two, TensorList{}});
      return TensorList{in[0]};
    })({count({2})});
  });
  EXPECT_NE(error.find("which is no tensor: members cannot differ in it"), std::string::npos) << error;
}

TEST_F(ControlFlow, AutocastReachesTheBranches) {
  const TensorFunction f = [](const TensorList& in) {
    const AutocastGuard autocast(bfloat16);
    return cond(
        in[0].sum() > 0, [](const TensorList& o) { return TensorList{o[0].mm(o[0])}; },
        [](const TensorList& o) { return TensorList{o[0].mm(o[0]) * 2}; }, {in[0]});
  };
  const Tensor x = ones({2, 2});
  EXPECT_EQ(f({x})[0].dtype(), bfloat16);
  const Traced t = trace(f, {x});
  EXPECT_EQ(run_graph(t.graph, {x})[0].dtype(), bfloat16);
}

// PyTorch's words: of no rows nobody knows what the function makes.
TEST_F(ControlFlow, MapOfNoRowsIsRefused) {
  try {
    map([](const TensorList& x) { return TensorList{x[0].sin()}; }, {zeros({0, 3})}, {});
    FAIL() << "it ran";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("Leading dimensions of mapped xs cannot be 0."), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace ingot::testing
