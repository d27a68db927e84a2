// Backwards that write what they saved: A084 to A088 of the dispatch specification.
#include "aot/min_cut.hpp"
#include "support/aot_harness.hpp"
#include "support/tracked.hpp"

namespace ingot::aot {
namespace {

using AotBackwardWrites = AotHarness;

Tensor clone_of(const Tensor& x, const std::function<void(const Tensor& saved)>& in_backward) {
  return custom_function(
      "Clone", {x},
      [](FunctionContext& c, const TensorList& in) {
        c.save(in);
        return TensorList{in[0].clone()};
      },
      [in_backward](FunctionContext& c, const TensorList& g) {
        in_backward(c.saved()[0]);
        return TensorList{g[0].clone()};
      })[0];
}

TEST_F(AotBackwardWrites, A084_R103_ASavedInput) {
  const auto f = [](const TensorList& in) {
    return TensorList{in[0] * clone_of(in[1], [](const Tensor& x) { Tensor(x).mul_(2); })};
  };
  for (const Partitioner& partition :
       {Partitioner(partition_default), Partitioner([](const Joint& j) { return partition_min_cut(j); })}) {
    verify(f, {tracked(ones({3, 3})), ones({3, 3})}, {.mut = true, .partition = partition});
    verify(f, {tracked(ones({3, 3})), tracked(ones({3, 3}))}, {.mut = true, .partition = partition});
  }
}

TEST_F(AotBackwardWrites, A085_R103_HowASavedInputLooks) {
  const auto f = [](const TensorList& in) {
    const TensorList both = custom_function(
        "Both", in,
        [](FunctionContext& c, const TensorList& given) {
          c.save({given[1]});
          return TensorList{given[0].clone(), given[1].clone()};
        },
        [](FunctionContext& c, const TensorList& g) {
          aten_value<"transpose_">(c.saved()[0], 1, 0);
          return TensorList{g[0].clone(), g[1].clone()};
        });
    return TensorList{both[0] * both[1]};
  };
  verify(f, {tracked(ones({3, 3})), ones({3, 3})}, {.mut = true, .error = "input that had its metadata mutated in the backward"});
}

TEST_F(AotBackwardWrites, A086_R103_ATangent) {
  const auto f = [](const TensorList& in) {
    return custom_function(
        "Doubled", {in[0] * in[1]}, [](FunctionContext&, const TensorList& given) { return TensorList{given[0].clone()}; },
        [](FunctionContext&, const TensorList& g) {
          Tensor(g[0]).mul_(2);
          return TensorList{g[0].clone()};
        });
  };
  EXPECT_NE(error_of([&] {
              aot_function(f)(TensorList{tracked(ones({3, 3})), tracked(ones({3, 3}))});
            }).find("input to the backward that was mutated during the backward"),
            std::string::npos);
}

// x1 is zero after the backward; the gradient of x is doubled.
TensorList clone_and_clear(const TensorList& in) {
  return custom_function(
      "CloneAndClear", in,
      [](FunctionContext& c, const TensorList& given) {
        c.save({given[1]});
        return TensorList{given[0].clone()};
      },
      [](FunctionContext& c, const TensorList& g) {
        const NoGrad no_grad;
        Tensor(c.saved()[0]).zero_();
        return TensorList{g[0] * 2, Tensor()};
      });
}

TEST_F(AotBackwardWrites, A087_R104_ItIsWrittenWhenTheBackwardRuns) {
  const Tensor x = randn({3}), x1 = randn({3});
  const std::vector<double> before = x1.to_vector<double>();
  std::vector<std::vector<double>> found[2];
  for (const bool compile : {false, true}) {
    const Tensor leaf = tracked(x.clone()), given = leaf.clone(), given1 = x1.clone();
    const Tensor y = compile ? aot_function(clone_and_clear)(TensorList{given, given1})[0] : clone_and_clear({given, given1})[0];
    EXPECT_EQ(given1.to_vector<double>(), before) << "the forward does not write it";
    y.sum().backward();
    for (const Tensor& t : {detached(given), given1, detached(y), leaf.grad()}) found[compile].push_back(t.to_vector<double>());
  }
  EXPECT_EQ(found[1], found[0]);
  EXPECT_EQ(found[1][1], std::vector<double>(3, 0.0));
}

TEST_F(AotBackwardWrites, A088_R149_NotWithAGraphOfTheBackward) {
  const Tensor x = tracked(randn({3})).clone(), x1 = tracked(randn({3})).clone();
  const Tensor y = aot_function(clone_and_clear)(TensorList{x, x1})[0];
  EXPECT_NE(error_of([&] {
              grad({y.sum()}, {x}, {}, {.create_graph = true});
            }).find("aot_autograd does not support input mutations with requires_grad in backward for create_graph=True"),
            std::string::npos);
}

TEST_F(AotBackwardWrites, R103_WhatTheForwardWritesToo) {
  const auto f = [](const TensorList& in) {
    Tensor(in[1]).add_(1);
    return TensorList{in[0] * clone_of(in[1], [](const Tensor& x) { Tensor(x).mul_(2); })};
  };
  EXPECT_NE(error_of([&] {
              aot_function(f)(TensorList{tracked(ones({3})), tracked(ones({3})) + 1});
            }).find("written in the forward and in the backward"),
            std::string::npos);
}

}  // namespace
}  // namespace ingot::aot
